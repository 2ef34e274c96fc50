package outrigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// jsonField is a field of a struct, as encoding/json sees it.
type jsonField struct {
	name        string
	typ         reflect.Type
	description string
	optional    bool
	// quoted says that a number or bool is inside of a JSON string.
	quoted      bool
	constraints constraints
	// rank decides between fields of embedded structs that have the same name; the lowest one wins.
	rank int
}

// jsonFields returns the fields of a struct in their order, with those of embedded structs among them. Of
// several with one name the shallowest is taken, then the one with a tag; otherwise none.
func jsonFields(t reflect.Type) []jsonField {
	fields := collectFields(t, 0, nil)
	winners := map[string]int{}
	rivals := map[string]int{}
	for _, field := range fields {
		best, found := winners[field.name]
		switch {
		case !found || field.rank < best:
			winners[field.name], rivals[field.name] = field.rank, 1
		case field.rank == best:
			rivals[field.name]++
		}
	}
	return slices.DeleteFunc(fields, func(field jsonField) bool {
		return field.rank != winners[field.name] || rivals[field.name] > 1
	})
}

// collectFields returns all fields that JSON may have. The structs around this one are in parents: one that
// embeds itself adds nothing.
func collectFields(t reflect.Type, depth int, parents []reflect.Type) []jsonField {
	if slices.Contains(parents, t) {
		return nil
	}
	parents = append(parents, t)
	var fields []jsonField
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := structOf(field)
		switch {
		case field.Tag.Get("json") == "-":
		case embedded != nil && name == "":
			fields = append(fields, collectFields(embedded, depth+1, parents)...)
		case field.IsExported() || embedded != nil:
			fields = append(fields, newJSONField(field, name, strings.Split(options, ","), depth))
		}
	}
	return fields
}

// structOf returns the struct that a field embeds, by value or by pointer, or nil.
func structOf(field reflect.StructField) reflect.Type {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !field.Anonymous || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

func newJSONField(field reflect.StructField, name string, options []string, depth int) jsonField {
	rank := 2 * depth
	if name == "" {
		name, rank = field.Name, rank+1
	}
	isOptional := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	return jsonField{
		name:        name,
		typ:         field.Type,
		description: field.Tag.Get("description"),
		optional:    isOptional || field.Type.Kind() == reflect.Pointer,
		quoted:      slices.Contains(options, "string"),
		constraints: constraints{
			enum:    field.Tag.Get("enum"),
			format:  field.Tag.Get("format"),
			minimum: field.Tag.Get("minimum"),
			maximum: field.Tag.Get("maximum"),
		},
		rank: rank,
	}
}

// constraints are the tags that say which values a field may have, as text. Empty ones are not set.
type constraints struct {
	enum, format, minimum, maximum string
}

// refuse returns an error if a constraint is set on a type that can have none.
func (c constraints) refuse() error {
	if c == (constraints{}) {
		return nil
	}
	return errors.New(": the tags enum, format, minimum and maximum are for strings and numbers")
}

// ofString adds the constraints of a string to its schema.
func (c constraints) ofString(schema members) (members, error) {
	if c.minimum != "" || c.maximum != "" {
		return nil, errors.New(": the tags minimum and maximum are for numbers")
	}
	if c.enum != "" {
		schema = append(schema, member{"enum", strings.Split(c.enum, ",")})
	}
	if c.format != "" {
		schema = append(schema, member{"format", c.format})
	}
	return schema, nil
}

// ofNumber adds the constraints of a number to its schema.
func (c constraints) ofNumber(schema members) (members, error) {
	if c.format != "" {
		return nil, errors.New(": the tag format is for strings")
	}
	var values []json.Number
	if c.enum != "" {
		for value := range strings.SplitSeq(c.enum, ",") {
			values = append(values, json.Number(value))
		}
		schema = append(schema, member{"enum", values})
	}
	for _, bound := range []member{{"minimum", json.Number(c.minimum)}, {"maximum", json.Number(c.maximum)}} {
		if bound.value != json.Number("") {
			values = append(values, bound.value.(json.Number))
			schema = append(schema, bound)
		}
	}
	for _, value := range values {
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf(": expected a number in the tags, found %q", value)
		}
	}
	return schema, nil
}
