package cel

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Value is a value in an expression.
type Value = ref.Val

// Null is a missing answer.
var Null Value = types.NullValue

var errNoCondition = errors.New("the value is not a boolean")

// NumberValue is a number.
func NumberValue(f float64) Value { return types.Double(f) }

// WholeValue is an integer.
func WholeValue(i int) Value { return types.Int(i) }

// TextValue is a text.
func TextValue(s string) Value { return types.String(s) }

// BooleanValue is true or false.
func BooleanValue(b bool) Value { return types.Bool(b) }

// InstantValue is a point in time.
func InstantValue(t time.Time) Value { return types.Timestamp{Time: t} }

// TextsValue is a list of texts.
func TextsValue(s []string) Value { return types.NewStringList(types.DefaultTypeAdapter, s) }

// ListValue is a list.
func ListValue(v []Value) Value { return types.NewRefValList(types.DefaultTypeAdapter, v) }

// Members returns the values of a record. Member is called only for what an
// expression reads.
type Members interface {
	Member(i int) Value // of the field with this number
	Answered() bool     // whether there is anything in it
}

// Record is a value of a shape. It is meant to be embedded or kept by the
// holder of the members, so that reading one allocates nothing.
type Record struct {
	Shape   *Shape
	Members Members
}

// ConvertToNative implements ref.Val.
func (r *Record) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a record cannot become %v", t)
}

// ConvertToType implements ref.Val.
func (r *Record) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return r.Shape.typ
	}
	return types.NewErr("a record cannot become %s", t.TypeName())
}

// Equal implements ref.Val: a record equals itself.
func (r *Record) Equal(other ref.Val) ref.Val {
	o, ok := other.(*Record)
	return types.Bool(ok && o == r)
}

// Type implements ref.Val.
func (r *Record) Type() ref.Type { return r.Shape.typ }

// Value implements ref.Val.
func (r *Record) Value() any { return r }

// Bag is an open set of values by name; a missing one is null.
type Bag map[string]any

// ConvertToNative implements ref.Val.
func (b Bag) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a bag cannot become %v", t)
}

// ConvertToType implements ref.Val.
func (b Bag) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a bag cannot become %s", t.TypeName())
}

// Equal implements ref.Val.
func (b Bag) Equal(ref.Val) ref.Val { return types.False }

// bagType has the trait that the attribute x.y and x["y"] ask for.
var bagType = types.NewObjectType("bag", traits.IndexerType, traits.ContainerType)

// Type implements ref.Val.
func (b Bag) Type() ref.Type { return bagType }

// Value implements ref.Val.
func (b Bag) Value() any { return b }

// Get implements traits.Indexer.
func (b Bag) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	return Native(b[string(name)])
}

// Contains implements traits.Container.
func (b Bag) Contains(v ref.Val) ref.Val {
	name, ok := v.(types.String)
	if !ok {
		return types.False
	}
	_, held := b[string(name)]
	return types.Bool(held)
}

// IsSet implements traits.FieldTester.
func (b Bag) IsSet(field ref.Val) ref.Val { return b.Contains(field) }

// Native turns a Go value as JSON decoders give them into a value: numbers
// become Number, maps a Bag. What it does not know is null.
func Native(v any) Value {
	switch v := v.(type) {
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case float64:
		return types.Double(v)
	case int:
		return types.Double(v)
	case int64:
		return types.Double(v)
	case time.Time:
		return types.Timestamp{Time: v}
	case []string:
		return TextsValue(v)
	case []any:
		list := make([]Value, len(v))
		for i, e := range v {
			list[i] = Native(e)
		}
		return ListValue(list)
	case map[string]any:
		return Bag(v)
	}
	return Null
}

// Elements takes a list apart; false when v is none.
func Elements(v Value) ([]Value, bool) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, false
	}
	var all []Value
	for it := list.Iterator(); it.HasNext() == types.True; {
		all = append(all, it.Next())
	}
	return all, true
}
