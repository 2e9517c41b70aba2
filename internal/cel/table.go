package cel

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Table is a list of records whose members are texts, indexed by the values of
// a column. It never changes and is safe for concurrent use.
type Table struct {
	traits.Lister
	shape   *Shape
	rows    []tableRow
	indexes []tableIndex
}

// tableRow is a record of a table.
type tableRow struct {
	record Record
	cells  []string
}

// Member implements Members.
func (r *tableRow) Member(i int) Value {
	if i >= len(r.cells) {
		return types.String("")
	}
	return types.String(r.cells[i])
}

// Answered implements Members.
func (r *tableRow) Answered() bool { return true }

// tableIndex finds rows by the text of a column. It is made when it is first
// asked for.
type tableIndex struct {
	once sync.Once
	at   map[string][]int
}

// NewTable makes a table from rows of cells, which it keeps. The members of the
// shape are the columns in order; the shape must be for this table alone.
func NewTable(shape *Shape, rows [][]string) *Table {
	shape.large = true
	t := &Table{shape: shape, rows: make([]tableRow, len(rows)), indexes: make([]tableIndex, len(shape.fields))}
	all := make([]ref.Val, len(rows))
	for i, cells := range rows {
		r := &t.rows[i]
		r.cells = cells
		r.record = Record{Shape: shape, Members: r}
		all[i] = &r.record
	}
	t.Lister = types.NewRefValList(types.DefaultTypeAdapter, all)
	return t
}

// Row is a record by its index.
func (t *Table) Row(i int) Value { return &t.rows[i].record }

// Find returns the indexes of the rows that have a text in a column.
func (t *Table) Find(column int, text string) []int {
	x := &t.indexes[column]
	x.once.Do(func() {
		x.at = map[string][]int{}
		for i := range t.rows {
			if column < len(t.rows[i].cells) {
				cell := t.rows[i].cells[column]
				x.at[cell] = append(x.at[cell], i)
			}
		}
	})
	return x.at[text]
}

// tableFunctions returns the functions over lists of records.
func tableFunctions() []cel.EnvOption {
	list := cel.ListType(cel.TypeParamType("A"))
	return []cel.EnvOption{
		cel.Function("found", cel.Overload("found_list_string_dyn", []*cel.Type{list, cel.StringType, cel.DynType}, list, cel.FunctionBinding(func(a ...ref.Val) ref.Val {
			column, _ := a[1].(types.String)
			return found(a[0], string(column), asText(a[2]))
		}))),
	}
}

// found are the records of a list that have a text as a member.
func found(list ref.Val, column, text string) ref.Val {
	var out []Value
	if t, ok := list.(*Table); ok {
		i, ok := t.shape.index[column]
		if !ok {
			return types.NewErr("there is no column %s", column)
		}
		for _, at := range t.Find(i, text) {
			out = append(out, t.Row(at))
		}
		return ListValue(out)
	}
	all, _ := Elements(list)
	for _, v := range all {
		r, ok := v.(*Record)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		i, ok := r.Shape.index[column]
		if !ok {
			return types.NewErr("there is no column %s", column)
		}
		if asText(r.Members.Member(i)) == text {
			out = append(out, v)
		}
	}
	return ListValue(out)
}

// tables checks the columns that found names, and reports whether an expression
// walks over a table, which may be long.
func (e *Env) tables(w *resolver, a *ast.AST) (walked bool, err error) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != "found" || err != nil {
			return
		}
		args := x.AsCall().Args()
		shape := e.elements(a, args[0])
		if shape == nil {
			err = w.errorf(args[0], "found needs a list of records")
			return
		}
		column, ok := literalText(args[1])
		if _, has := shape.index[column]; !ok || !has {
			var names []string
			for _, f := range shape.fields {
				names = append(names, f.Name)
			}
			slices.Sort(names)
			err = w.errorf(args[1], "found needs the name of a column in quotes, one of %v", names)
		}
	}))
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		s := e.elements(a, x)
		walked = walked || s != nil && s.large
	}))
	return walked, err
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// elements is the shape of the records in a list, nil when x is not such a
// list.
func (e *Env) elements(a *ast.AST, x ast.Expr) *Shape {
	t := a.GetType(x.ID())
	if t == nil || t.Kind() != types.ListKind || len(t.Parameters()) == 0 {
		return nil
	}
	return e.shapes.shapes[t.Parameters()[0].TypeName()]
}
