package cel

import (
	"math"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

// language is CEL with our additions and limits.
func language() []cel.EnvOption {
	std := env.NewLibrarySubset().AddExcludedFunctions(
		env.NewFunction(operators.Add), env.NewFunction(operators.Subtract), env.NewFunction(operators.Multiply),
		env.NewFunction(operators.Divide), env.NewFunction(operators.Modulo),
		env.NewFunction(operators.Equals), env.NewFunction(operators.NotEquals), env.NewFunction(operators.In),
	)
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(std)),
		ext.Strings(ext.StringsVersion(5)),
		ext.Math(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(4 * MaxLength),
		cel.ParserRecursionLimit(2 * maxDepth),
		cel.ParserErrorRecoveryLimit(4),
	}
	opts = append(opts, arithmetic()...)
	opts = append(append(opts, equality()...), weighedFunction())
	return slices.Concat(opts, functions(), conversions(), formFunctions(), placeFunctions(), tableFunctions())
}

// binary lists the overloads of an operator, with those for mixed numbers.
func binary(name, id string, op func(a, b ref.Val) ref.Val, more ...cel.FunctionOpt) cel.EnvOption {
	d, i := cel.DoubleType, cel.IntType
	opts := append([]cel.FunctionOpt{
		cel.Overload(id+"_double", []*cel.Type{d, d}, d),
		cel.Overload(id+"_int64", []*cel.Type{i, i}, i),
		cel.Overload(id+"_double_int64", []*cel.Type{d, i}, d),
		cel.Overload(id+"_int64_double", []*cel.Type{i, d}, d),
		cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return op(level(a, b)) }),
	}, more...)
	return cel.Function(name, opts...)
}

// level makes two numbers of different kinds doubles.
func level(a, b ref.Val) (ref.Val, ref.Val) {
	x, whole := a.(types.Int)
	if _, double := b.(types.Double); whole && double {
		return types.Double(x), b
	}
	y, whole := b.(types.Int)
	if _, double := a.(types.Double); whole && double {
		return a, types.Double(y)
	}
	return a, b
}

func arithmetic() []cel.EnvOption {
	list := cel.ListType(cel.TypeParamType("A"))
	s, moment, span := cel.StringType, cel.TimestampType, cel.DurationType
	return []cel.EnvOption{
		binary(operators.Add, "add", func(a, b ref.Val) ref.Val {
			if x, ok := a.(traits.Adder); ok {
				return x.Add(b)
			}
			return types.MaybeNoSuchOverloadErr(a)
		},
			cel.Overload(overloads.AddString, []*cel.Type{s, s}, s),
			cel.Overload(overloads.AddList, []*cel.Type{list, list}, list),
			cel.Overload(overloads.AddDurationDuration, []*cel.Type{span, span}, span),
			cel.Overload(overloads.AddDurationTimestamp, []*cel.Type{span, moment}, moment),
			cel.Overload(overloads.AddTimestampDuration, []*cel.Type{moment, span}, moment),
		),
		binary(operators.Subtract, "subtract", func(a, b ref.Val) ref.Val {
			if x, ok := a.(traits.Subtractor); ok {
				return x.Subtract(b)
			}
			return types.MaybeNoSuchOverloadErr(a)
		},
			cel.Overload(overloads.SubtractDurationDuration, []*cel.Type{span, span}, span),
			cel.Overload(overloads.SubtractTimestampDuration, []*cel.Type{moment, span}, moment),
			cel.Overload(overloads.SubtractTimestampTimestamp, []*cel.Type{moment, moment}, span),
		),
		binary(operators.Multiply, "multiply", func(a, b ref.Val) ref.Val {
			if x, ok := a.(traits.Multiplier); ok {
				return x.Multiply(b)
			}
			return types.MaybeNoSuchOverloadErr(a)
		}),
		binary(operators.Divide, "divide", func(a, b ref.Val) ref.Val {
			if x, ok := a.(traits.Divider); ok {
				return x.Divide(b)
			}
			return types.MaybeNoSuchOverloadErr(a)
		}),
		binary(operators.Modulo, "modulo", modulo),
	}
}

// modulo also takes doubles, for that is what answers are.
func modulo(a, b ref.Val) ref.Val {
	x, xok := a.(types.Double)
	y, yok := b.(types.Double)
	if xok && yok {
		return types.Double(math.Mod(float64(x), float64(y)))
	}
	if x, ok := a.(traits.Modder); ok {
		return x.Modulo(b)
	}
	return types.MaybeNoSuchOverloadErr(a)
}

// equality declares == != and in for all types. How values compare is CEL's
// own; which types may be compared is checked in comparable.
func equality() []cel.EnvOption {
	two := []*cel.Type{cel.DynType, cel.DynType}
	// The planner compares on its own; the checker requires a binding.
	equal := func(x, y ref.Val) ref.Val { return types.Bool(types.Equal(x, y) == types.True) }
	return []cel.EnvOption{
		cel.Function(operators.Equals, cel.Overload(overloads.Equals, two, cel.BoolType, cel.BinaryBinding(equal))),
		cel.Function(operators.NotEquals, cel.Overload(overloads.NotEquals, two, cel.BoolType, cel.BinaryBinding(func(x, y ref.Val) ref.Val {
			return types.Bool(equal(x, y) == types.False)
		}))),
		cel.Function(operators.In, cel.Overload(overloads.InList, two, cel.BoolType, cel.BinaryBinding(func(x, list ref.Val) ref.Val {
			if c, ok := list.(traits.Container); ok {
				return c.Contains(x)
			}
			return types.MaybeNoSuchOverloadErr(list)
		}))),
	}
}

func functions() []cel.EnvOption {
	dyn := cel.DynType
	return []cel.EnvOption{
		cel.Function("selected", cel.Overload("selected_dyn_string", []*cel.Type{dyn, cel.StringType}, cel.BoolType,
			cel.OverloadIsNonStrict(), cel.BinaryBinding(selected))),
		cel.Function("answered", cel.Overload("answered_dyn", []*cel.Type{dyn}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val { return types.Bool(answered(v)) }))),
		cel.Function("count", cel.Overload("count_dyn", []*cel.Type{dyn}, cel.DoubleType, cel.UnaryBinding(count))),
		cel.Function("sum", cel.Overload("sum_list", []*cel.Type{cel.ListType(dyn)}, cel.DoubleType, cel.UnaryBinding(sum))),
		cel.Function("coalesce", cel.Overload("coalesce_dyn_dyn", []*cel.Type{dyn, dyn}, dyn, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			if a == Null {
				return b
			}
			return a
		}))),
	}
}

// selected reports whether an option was chosen, alone or among others.
func selected(answer, value ref.Val) ref.Val {
	if types.IsUnknownOrError(answer) {
		return answer
	}
	if types.IsUnknownOrError(value) {
		return value
	}
	if list, ok := answer.(traits.Lister); ok {
		return list.Contains(value)
	}
	return types.Bool(types.Equal(answer, value) == types.True)
}

func answered(v ref.Val) bool {
	switch v := v.(type) {
	case types.Null:
		return false
	case traits.Lister:
		return v.Size() != types.IntZero
	case *Record:
		return v.Members.Answered()
	case types.String:
		return v != ""
	}
	return true
}

// count is the number of elements of a list, else 1 for an answer.
func count(v ref.Val) ref.Val {
	if list, ok := v.(traits.Lister); ok {
		n, _ := list.Size().(types.Int)
		return types.Double(n)
	}
	if answered(v) {
		return types.Double(1)
	}
	return types.Double(0)
}

// sum adds the numbers of a list; missing ones count nothing.
func sum(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	total := 0.0
	for it := list.Iterator(); it.HasNext() == types.True; {
		switch n := it.Next().(type) {
		case types.Double:
			total += float64(n)
		case types.Int:
			total += float64(n)
		case types.Null:
		default:
			return types.MaybeNoSuchOverloadErr(n)
		}
	}
	return types.Double(total)
}
