package outrigger_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type embedded struct {
	City  string `json:"city"`
	Shade string `json:"colour"`
}

type ownSchema struct{}

func (ownSchema) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","title":"own"}`)
}

type brokenSchema struct{}

func (*brokenSchema) JSONSchema() json.RawMessage { return json.RawMessage(`{`) }

func schemaOf[T any](t *testing.T) string {
	t.Helper()
	schema, err := outrigger.SchemaOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return string(schema)
}

// property returns the schema of the one field of a struct, without what surrounds it.
func property[T any](t *testing.T) string {
	t.Helper()
	schema := schemaOf[T](t)
	_, property, _ := strings.Cut(schema, `"properties":{"f":`)
	property, _, found := strings.Cut(property, `},"required":["f"],"additionalProperties":false}`)
	if !found {
		property, _, _ = strings.Cut(property, `},"additionalProperties":false}`)
	}
	return property
}

func TestSchemaOfAStructListsItsFieldsInOrder(t *testing.T) {
	type weather struct {
		City    string `json:"city" description:"Name of the city."`
		Unit    string `json:"unit,omitempty" enum:"celsius,fahrenheit"`
		Days    *int   `json:"days" minimum:"1" maximum:"14"`
		Hours   []int  `json:"hours,omitzero"`
		Exact   bool   `json:"exact"`
		Ignored string `json:"-"`
		private struct{}
	}
	want := `{"type":"object","properties":{` +
		`"city":{"type":"string","description":"Name of the city."},` +
		`"unit":{"type":"string","enum":["celsius","fahrenheit"]},` +
		`"days":{"type":"integer","minimum":1,"maximum":14},` +
		`"hours":{"type":"array","items":{"type":"integer"}},` +
		`"exact":{"type":"boolean"}` +
		`},"required":["city","exact"],"additionalProperties":false}`
	check(t, "schema", schemaOf[weather](t), want)
}

func TestSchemaOfEachType(t *testing.T) {
	cases := []struct{ name, got, want string }{
		{"string", property[struct {
			F string `json:"f"`
		}](t), `{"type":"string"}`},
		{"float", property[struct {
			F float32 `json:"f"`
		}](t), `{"type":"number"}`},
		{"unsigned", property[struct {
			F uint8 `json:"f"`
		}](t), `{"type":"integer","minimum":0}`},
		{"enum of numbers", property[struct {
			F int `json:"f" enum:"1,2"`
		}](t), `{"type":"integer","enum":[1,2]}`},
		{"format", property[struct {
			F string `json:"f" format:"email"`
		}](t), `{"type":"string","format":"email"}`},
		{"quoted number", property[struct {
			F int `json:"f,string"`
		}](t), `{"type":"string"}`},
		{"time", property[struct {
			F time.Time `json:"f"`
		}](t), `{"type":"string","format":"date-time"}`},
		{"duration", property[struct {
			F time.Duration `json:"f"`
		}](t), `{"type":"integer","description":"Nanoseconds."}`},
		{"described duration", property[struct {
			F time.Duration `json:"f" description:"In ns."`
		}](t), `{"type":"integer","description":"In ns."}`},
		{"raw JSON", property[struct {
			F json.RawMessage `json:"f"`
		}](t), `{}`},
		{"any", property[struct {
			F any `json:"f" description:"Whatever."`
		}](t), `{"description":"Whatever."}`},
		{"number", property[struct {
			F json.Number `json:"f"`
		}](t), `{"type":"number"}`},
		{"bytes", property[struct {
			F []byte `json:"f"`
		}](t), `{"type":"string","contentEncoding":"base64"}`},
		{"text", property[struct {
			F netip.Addr `json:"f"`
		}](t), `{"type":"string"}`},
		{"array", property[struct {
			F [2]bool `json:"f"`
		}](t), `{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}`},
		{"enum of elements", property[struct {
			F []string `json:"f" enum:"a,b" description:"Some."`
		}](t),
			`{"type":"array","items":{"type":"string","enum":["a","b"]},"description":"Some."}`},
		{"map", property[struct {
			F map[int]string `json:"f"`
		}](t), `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"nested", property[struct {
			F struct {
				G int `json:"g"`
			} `json:"f"`
		}](t),
			`{"type":"object","properties":{"g":{"type":"integer"}},"required":["g"],"additionalProperties":false}`},
		{"pointer to pointer", property[struct {
			F **string `json:"f"`
		}](t), `{"type":"string"}`},
		{"own", property[struct {
			F ownSchema `json:"f" description:"Not used."`
		}](t), `{"type":"object","title":"own"}`},
	}
	for _, test := range cases {
		check(t, test.name, test.got, test.want)
	}
}

func TestSchemaHasTheFieldsOfEmbeddedStructsAsJSONHas(t *testing.T) {
	type other struct {
		Shade string `json:"colour"`
		Depth int
	}
	type both struct {
		embedded
		*other `json:",omitempty"`
		City   int `json:"city"`
	}
	// Of the two fields named colour neither wins; the outer city hides the embedded one.
	want := `{"type":"object","properties":{"Depth":{"type":"integer"},"city":{"type":"integer"}},` +
		`"required":["Depth","city"],"additionalProperties":false}`
	check(t, "schema", schemaOf[both](t), want)
}

// Embedded is exported, unlike embedded: encoding/json treats both alike.
type Embedded struct{ Name string }

type node struct {
	Children []node `json:"children"`
}

type tree map[string]tree

type selfEmbedding struct {
	*selfEmbedding
	Name string `json:"name"`
}

func TestSchemaThatCannotBeIsAnErrorWithThePath(t *testing.T) {
	cases := []struct {
		derive func() (json.RawMessage, error)
		want   string
	}{
		{outrigger.SchemaOf[node], "outrigger_test.node.children[]: the type outrigger_test.node contains itself"},
		{outrigger.SchemaOf[tree], "outrigger_test.tree{}: the type outrigger_test.tree contains itself"},
		{outrigger.SchemaOf[struct{ A []func() }], ".A[]: JSON has no func()"},
		{outrigger.SchemaOf[struct{ A map[bool]int }], ".A: the keys of a JSON object are strings, not bool"},
		{outrigger.SchemaOf[struct{ A error }], ".A: JSON has no error"},
		{outrigger.SchemaOf[struct{ A complex128 }], ".A: JSON has no complex128"},
		{outrigger.SchemaOf[struct{ A big.Int }], ".A: big.Int reads its own JSON; give it a method JSONSchema"},
		{outrigger.SchemaOf[struct{ A brokenSchema }], ".A: JSONSchema of outrigger_test.brokenSchema returned invalid JSON"},
		{outrigger.SchemaOf[struct {
			A bool `enum:"yes"`
		}], ".A: the tags enum, format, minimum and maximum are for"},
		{outrigger.SchemaOf[struct {
			A string `minimum:"1"`
		}], ".A: the tags minimum and maximum are for numbers"},
		{outrigger.SchemaOf[struct {
			A int `format:"x"`
		}], ".A: the tag format is for strings"},
		{outrigger.SchemaOf[struct {
			A int `maximum:"ten"`
		}], `.A: expected a number in the tags, found "ten"`},
		{outrigger.SchemaOf[struct {
			A []int `enum:"1,b"`
		}], `.A[]: expected a number in the tags, found "b"`},
	}
	for _, test := range cases {
		if _, err := test.derive(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestSchemaThatGrowsExponentiallyIsRefused(t *testing.T) {
	type a struct{ A, B, C, D, E, F, G, H, I, J int }
	type b struct{ A, B, C, D, E, F, G, H, I, J a }
	type c struct{ A, B, C, D, E, F, G, H, I, J b }
	type d struct{ A, B, C, D, E, F, G, H, I, J c }
	_, err := outrigger.SchemaOf[d]()
	if err == nil || !strings.Contains(err.Error(), "the schema has more than 262144 bytes") {
		t.Errorf("got %v, want an error about the size", err)
	}
}

func TestStructThatEmbedsItselfHasItsFieldsOnce(t *testing.T) {
	want := `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`
	check(t, "schema", schemaOf[selfEmbedding](t), want)
}

// Every value of a type must match what was derived: the names that JSON writes are those of the schema.
func TestSchemaHasTheNamesThatJSONWrites(t *testing.T) {
	type inner struct{ Inner int }
	type outer struct{ Outer int }
	type sample struct {
		embedded
		Embedded
		inner `json:"named"`
		outer
		Plain  int
		Tagged string `json:"with-tag"`
		Comma  string `json:",omitempty"`
		Dash   string `json:"-,"`
	}
	written, err := json.Marshal(sample{Comma: "set"})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(written, &fields); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(schemaOf[sample](t)), &schema); err != nil {
		t.Fatal(err)
	}
	check(t, "names", fmt.Sprint(keys(schema.Properties)), fmt.Sprint(keys(fields)))
}
