package outrigger

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// JSONSchemer is implemented by a type that gives its own JSON Schema, for instance one that implements
// json.Unmarshaler, or is recursive.
type JSONSchemer interface {
	JSONSchema() json.RawMessage
}

// maxSchemaBytes bounds a derived schema: types that use others several times grow exponentially.
const maxSchemaBytes = 256 << 10

// SchemaOf derives the JSON Schema of T, as encoding/json reads it.
//
// Fields have the names of encoding/json. A field is required unless it is a pointer or has omitempty or
// omitzero; no other properties are allowed. These tags say more:
//
//	description:"Name of the city."   what the field is, for the model
//	enum:"celsius,fahrenheit"         the values that a string or number may have
//	format:"email"                    the format of a string
//	minimum:"0" maximum:"100"         the range of a number
//
// On a slice, array or map, enum, format and range are those of its elements. time.Time is a string of the
// format date-time, json.RawMessage and any are any value, and []byte is text in base64. A type with a method
// JSONSchema has that schema, whatever its tags. Recursive types, and those that JSON does not have, are
// errors.
func SchemaOf[T any]() (json.RawMessage, error) {
	return schemaOf(reflect.TypeFor[T]())
}

// rootSchema derives the schema of arguments or of an object: the root must be an object.
func rootSchema(t reflect.Type) (json.RawMessage, error) {
	schema, err := schemaOf(t)
	if err != nil {
		return nil, err
	}
	var root struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &root); err != nil || root.Type != "object" {
		return nil, fmt.Errorf("%v: expected a type that is a JSON object: a struct or a map", t)
	}
	return schema, nil
}

func schemaOf(t reflect.Type) (json.RawMessage, error) {
	derived, err := (&deriver{}).derive(t, constraints{})
	if err != nil {
		return nil, fmt.Errorf("%v%w", t, err)
	}
	return json.Marshal(derived)
}

// deriver derives one schema. Its errors begin with the path below the root, for instance ".city: ...".
type deriver struct {
	// open has the named types around the current one, by which a recursive type is found.
	open []reflect.Type
	// bytes is about how large the schema is so far.
	bytes int
}

var (
	timeType       = reflect.TypeFor[time.Time]()
	durationType   = reflect.TypeFor[time.Duration]()
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	bytesType      = reflect.TypeFor[[]byte]()

	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// derive returns the schema of a type: a members, or a json.RawMessage if the type gives its own.
func (d *deriver) derive(t reflect.Type, limits constraints) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if own, found, err := ownSchema(t); found {
		return own, err
	}
	if known, found, err := knownType(t, limits); found {
		return known, err
	}
	if slices.Contains(d.open, t) {
		return nil, fmt.Errorf(": the type %v contains itself; give it a method JSONSchema", t)
	}
	if t.Name() != "" {
		d.open = append(d.open, t)
		defer func() { d.open = d.open[:len(d.open)-1] }()
	}
	if d.bytes += 32; d.bytes > maxSchemaBytes {
		return nil, fmt.Errorf(": the schema has more than %d bytes", maxSchemaBytes)
	}
	return d.deriveKind(t, limits)
}

// ownSchema returns the schema that a type gives itself.
func ownSchema(t reflect.Type) (own json.RawMessage, found bool, err error) {
	schemer, ok := reflect.New(t).Interface().(JSONSchemer)
	if !ok {
		return nil, false, nil
	}
	if own = schemer.JSONSchema(); !json.Valid(own) {
		err = fmt.Errorf(": JSONSchema of %v returned invalid JSON", t)
	}
	return own, true, err
}

// knownType returns the schema of a type that encoding/json, or the type itself, reads in its own way.
func knownType(t reflect.Type, limits constraints) (known members, found bool, err error) {
	switch {
	case t == timeType:
		known, err = members{{"type", "string"}, {"format", "date-time"}}, limits.refuse()
	case t == durationType:
		known, err = limits.ofNumber(members{{"type", "integer"}, {"description", "Nanoseconds."}})
	case t == rawMessageType, t.Kind() == reflect.Interface && t.NumMethod() == 0:
		known, err = members{}, limits.refuse()
	case t == numberType:
		known, err = limits.ofNumber(members{{"type", "number"}})
	case t == bytesType:
		known, err = members{{"type", "string"}, {"contentEncoding", "base64"}}, limits.refuse()
	case reflect.PointerTo(t).Implements(unmarshalerType):
		err = fmt.Errorf(": %v reads its own JSON; give it a method JSONSchema", t)
	case reflect.PointerTo(t).Implements(textUnmarshalerType):
		known, err = limits.ofString(members{{"type", "string"}})
	default:
		return nil, false, nil
	}
	return known, true, err
}

func (d *deriver) deriveKind(t reflect.Type, limits constraints) (members, error) {
	switch t.Kind() {
	case reflect.Bool:
		return members{{"type", "boolean"}}, limits.refuse()
	case reflect.String:
		return limits.ofString(members{{"type", "string"}})
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return limits.ofNumber(members{{"type", "integer"}})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if limits.minimum == "" {
			limits.minimum = "0"
		}
		return limits.ofNumber(members{{"type", "integer"}})
	case reflect.Float32, reflect.Float64:
		return limits.ofNumber(members{{"type", "number"}})
	case reflect.Slice, reflect.Array:
		return d.list(t, limits)
	case reflect.Map:
		return d.mapping(t, limits)
	case reflect.Struct:
		return d.structure(t, limits)
	default:
		return nil, fmt.Errorf(": JSON has no %v", t)
	}
}

func (d *deriver) list(t reflect.Type, limits constraints) (members, error) {
	items, err := d.derive(t.Elem(), limits)
	if err != nil {
		return nil, fmt.Errorf("[]%w", err)
	}
	list := members{{"type", "array"}, {"items", items}}
	if t.Kind() == reflect.Array {
		list = append(list, member{"minItems", t.Len()}, member{"maxItems", t.Len()})
	}
	return list, nil
}

func (d *deriver) mapping(t reflect.Type, limits constraints) (members, error) {
	if !isMapKey(t.Key()) {
		return nil, fmt.Errorf(": the keys of a JSON object are strings, not %v", t.Key())
	}
	values, err := d.derive(t.Elem(), limits)
	if err != nil {
		return nil, fmt.Errorf("{}%w", err)
	}
	return members{{"type", "object"}, {"additionalProperties", values}}, nil
}

// isMapKey reports whether encoding/json decodes names of properties into a type.
func isMapKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	default:
		return reflect.PointerTo(t).Implements(textUnmarshalerType)
	}
}

func (d *deriver) structure(t reflect.Type, limits constraints) (members, error) {
	if err := limits.refuse(); err != nil {
		return nil, err
	}
	properties, required := members{}, []string{}
	for _, field := range jsonFields(t) {
		property, err := d.property(field)
		if err != nil {
			return nil, fmt.Errorf(".%s%w", field.name, err)
		}
		properties = append(properties, member{field.name, property})
		if !field.optional {
			required = append(required, field.name)
		}
	}
	object := members{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		object = append(object, member{"required", required})
	}
	return append(object, member{"additionalProperties", false}), nil
}

func (d *deriver) property(field jsonField) (any, error) {
	d.bytes += len(field.name) + len(field.description)
	limits := field.constraints
	property, err := d.derive(field.typ, limits)
	if err != nil {
		return nil, err
	}
	derived, ok := property.(members)
	if !ok {
		return property, nil
	}
	if field.quoted {
		derived = members{{"type", "string"}}
	}
	return derived.described(field.description), nil
}

// members is a JSON object whose members keep their order.
type members []member

type member struct {
	name  string
	value any
}

// described sets the description, unless it is empty.
func (m members) described(text string) members {
	if text == "" {
		return m
	}
	m = slices.DeleteFunc(m, func(existing member) bool { return existing.name == "description" })
	return append(m, member{"description", text})
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, member := range m {
		name, nameErr := json.Marshal(member.name)
		value, err := json.Marshal(member.value)
		if err := errors.Join(nameErr, err); err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}
