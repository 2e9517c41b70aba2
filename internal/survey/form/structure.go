package form

import "github.com/hearth-dmrv/hearth/internal/cel"

// structures are the kinds that people do not answer themselves: containers of
// questions, notes, and calculations.
var structures = []*Kind{
	{Type: Group, Nested: true, value: group, XLSForm: XLSForm{Word: "begin_group", Reads: []string{"begin_group"}}, XForm: XForm{Control: "group"}},
	{Type: Repeat, Nested: true, Repeated: true, value: elements, XLSForm: XLSForm{Word: "begin_repeat", Reads: []string{"begin_repeat"}}, XForm: XForm{Control: "repeat"}},
	{Type: Note, Shown: true, CEL: cel.Any, XLSForm: XLSForm{Word: "note", Reads: []string{"note"}}, XForm: XForm{Type: "string", Control: "input"}},
	{
		Type: Calculate, Members: Members{Unit: true}, Calculated: true,
		CEL: cel.Any, read: (*answering).raw, value: written,
		Quality: Quality{Apart: true},
		XLSForm: XLSForm{Word: "calculate", Reads: []string{"calculate"}},
		XForm:   XForm{Type: "string"},
	},
}

// group is the record of the answers in a group.
func group(_ *block, _ *node, c *cell) cel.Value { return &c.kids.record }

// elements are the records of a repeat.
func elements(_ *block, _ *node, c *cell) cel.Value {
	list := make([]cel.Value, len(c.elements))
	for i, e := range c.elements {
		list[i] = &e.record
	}
	return cel.ListValue(list)
}

// raw keeps what the client calculated, to be compared with our own value.
func (a *answering) raw() error {
	v, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	v = v.Clone()
	if err := v.Canonicalize(); err != nil {
		a.wrong("", "invalid", "The value is not valid.")
		return nil
	}
	a.ev.arena = append(a.ev.arena, v...)
	return nil
}
