package cel

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Type is the declared type of a name or member.
type Type struct {
	cel   *cel.Type
	shape *Shape
}

// The types of single values; each may be null.
var (
	Number  = Type{cel: types.NewNullableType(types.DoubleType)}
	Text    = Type{cel: types.NewNullableType(types.StringType)}
	Boolean = Type{cel: types.NewNullableType(types.BoolType)}
	Instant = Type{cel: types.TimestampType}
	Whole   = Type{cel: types.IntType}
	Texts   = Type{cel: types.NewNullableType(types.NewListType(types.StringType))}
	Any     = Type{cel: types.DynType} // checked when it is evaluated
)

// RecordOf is the type of a record of that shape.
func RecordOf(s *Shape) Type { return Type{cel: s.typ, shape: s} }

// ListOf is the type of a list of records.
func ListOf(s *Shape) Type {
	return Type{cel: types.NewNullableType(types.NewListType(s.typ)), shape: s}
}

// Field is a member of a record.
type Field struct {
	Name string
	Type Type
}

// Shape is a kind of record: its members in order.
type Shape struct {
	name   string
	fields []Field
	index  map[string]int
	typ    *cel.Type
	large  bool // of a table, which may have many records
}

// NewShape makes a shape without members. The name must be unique in its
// environment.
func NewShape(name string) *Shape {
	return &Shape{name: name, index: map[string]int{}, typ: types.NewObjectType(name)}
}

// Add adds a member and returns its number.
func (s *Shape) Add(name string, t Type) int {
	s.index[name] = len(s.fields)
	s.fields = append(s.fields, Field{name, t})
	return len(s.fields) - 1
}

// Fields are the members in order.
func (s *Shape) Fields() []Field { return s.fields }

// Name is the name the shape was made with.
func (s *Shape) Name() string { return s.name }

// registry describes shapes to the CEL checker. The rest of CEL's types come
// from the underlying registry.
type registry struct {
	types.Provider
	shapes map[string]*Shape
}

func newRegistry(shapes []*Shape) (*registry, error) {
	std, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("make CEL registry: %w", err)
	}
	r := &registry{Provider: std, shapes: make(map[string]*Shape, len(shapes))}
	for _, s := range shapes {
		r.shapes[s.name] = s
	}
	return r, nil
}

// FindStructType implements types.Provider.
func (r *registry) FindStructType(name string) (*types.Type, bool) {
	s, ok := r.shapes[name]
	if !ok {
		return nil, false
	}
	return types.NewTypeTypeWithParam(s.typ), true
}

// FindStructFieldNames implements types.Provider.
func (r *registry) FindStructFieldNames(name string) ([]string, bool) {
	s, ok := r.shapes[name]
	if !ok {
		return nil, false
	}
	var names []string
	for _, f := range s.fields {
		names = append(names, f.Name)
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (r *registry) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s, ok := r.shapes[name]
	if !ok {
		return nil, false
	}
	i, ok := s.index[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type:    s.fields[i].Type.cel,
		IsSet:   func(target any) bool { return member(target, i) != Null },
		GetFrom: func(target any) (any, error) { return member(target, i), nil },
	}, true
}

// member reads a member of a record; those of a missing record are null.
func member(target any, i int) Value {
	if r, ok := target.(*Record); ok {
		return r.Members.Member(i)
	}
	return Null
}

// NewValue implements types.Provider. Expressions cannot make records.
func (r *registry) NewValue(string, map[string]ref.Val) ref.Val {
	return types.WrapErr(errors.New("records cannot be made in expressions"))
}
