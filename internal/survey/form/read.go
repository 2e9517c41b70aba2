package form

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// reader reads the JSON of answers. It is kept between checks.
type reader struct {
	src  bytes.Buffer
	dec  *jsontext.Decoder
	name []byte // the name read last
	text []byte // the string read last, without quotes
	hold []byte // values of the object read last
	list []member
}

// member is a member of an object that was read whole.
type member struct {
	name  string
	value jsontext.Value
}

// errBroken says that the JSON is broken: reading has stopped.
var errBroken = errors.New("the JSON is broken")

// errBudget says that the expressions of a check have cost too much.
var errBudget = errors.New("the expressions cost too much")

func (f *Form) reader() *reader {
	if r, ok := f.readers.Get().(*reader); ok {
		return r
	}
	return newReader()
}

func newReader() *reader { return &reader{dec: jsontext.NewDecoder(bytes.NewReader(nil))} }

// open begins to read src.
func (r *reader) open(src jsontext.Value) {
	r.src = *bytes.NewBuffer(src)
	r.dec.Reset(&r.src)
}

// read reads all answers into the blocks and checks each against its type.
func (ev *evaluation) read(answers jsontext.Value) {
	if len(answers) > MaxAnswers {
		ev.wrong("/responses", "too_large", "The answers may have at most 256 KiB.")
		return
	}
	if len(answers) == 0 {
		return
	}
	ev.open(answers)
	err := ev.sections()
	if err == nil {
		if _, err = ev.dec.ReadToken(); errors.Is(err, io.EOF) {
			return
		}
		err = errBroken
	}
	pointer, code, detail := "/responses", "syntax", "The JSON is invalid here."
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		pointer += string(syntax.JSONPointer)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			code, detail = "duplicate", "This member appears twice in its object."
		}
	}
	ev.wrong(pointer, code, detail)
}

// sections reads the outermost object.
func (ev *evaluation) sections() error {
	switch ev.dec.PeekKind() {
	case 'n':
		return ev.dec.SkipValue()
	case '{':
	default:
		ev.wrong("/responses", "wrong_type", "The value must be an object of sections.")
		return ev.dec.SkipValue()
	}
	return ev.object(func(name []byte) error {
		i, ok := ev.f.byID[string(name)]
		if !ok || !ev.f.selected[i] {
			ev.wrong("/responses/"+check.Escape(string(name)), "unknown_section", "The survey does not ask a section with this id.")
			return ev.dec.SkipValue()
		}
		return ev.members(&ev.blocks[i])
	})
}

// object reads an object and hands over each name. read must read the value,
// after which the name is gone.
func (ev *evaluation) object(read func(name []byte) error) error {
	if _, err := ev.dec.ReadToken(); err != nil {
		return err
	}
	for ev.dec.PeekKind() != '}' {
		raw, err := ev.dec.ReadValue()
		if err != nil {
			return err
		}
		ev.name, err = jsontext.AppendUnquote(ev.name[:0], raw)
		if err != nil {
			return err
		}
		if err := read(ev.name); err != nil {
			return err
		}
	}
	_, err := ev.dec.ReadToken()
	return err
}

// members reads the answers of a block.
func (ev *evaluation) members(b *block) error {
	switch ev.dec.PeekKind() {
	case 'n':
		return ev.dec.SkipValue()
	case '{':
	default:
		ev.wrong(b.pointer(), "wrong_type", "The value must be an object of questions.")
		return ev.dec.SkipValue()
	}
	return ev.object(func(name []byte) error {
		n, ok := b.box.byID[string(name)]
		if !ok {
			ev.wrong(b.pointer()+"/"+check.Escape(string(name)), "unknown_question", "There is no question with this id here.")
			return ev.dec.SkipValue()
		}
		return ev.answer(b, n)
	})
}

// answer reads one answer.
func (ev *evaluation) answer(b *block, n *node) error {
	kind := ev.dec.PeekKind()
	if kind == 'n' {
		return ev.dec.SkipValue()
	}
	c := &b.cells[n.index]
	switch {
	case n.kind.Repeated:
		return ev.elements(b, n, c)
	case n.kind.Nested:
		return ev.members(c.kids)
	case n.kind.Shown:
		ev.wrong(b.at(n), "not_allowed", "A note takes no answer.")
		return ev.dec.SkipValue()
	}
	a := &ev.reading // a new one for each answer would be garbage
	*a = answering{ev: ev, b: b, n: n, c: c, kind: kind}
	c.start = len(ev.arena)
	if err := a.read(); err != nil {
		return err
	}
	if a.failed || len(ev.arena) == c.start {
		ev.arena = ev.arena[:c.start]
		c.state = blank
	} else if c.state == blank {
		c.state = given
	}
	c.end = len(ev.arena)
	return nil
}

// elements reads the elements of a repeat.
func (ev *evaluation) elements(b *block, n *node, c *cell) error {
	if ev.dec.PeekKind() != '[' {
		ev.wrong(b.at(n), "wrong_type", "The value must be an array of objects.")
		return ev.dec.SkipValue()
	}
	if _, err := ev.dec.ReadToken(); err != nil {
		return err
	}
	c.state = given
	for extra := 0; ev.dec.PeekKind() != ']'; {
		if len(c.elements) >= n.most || ev.made > maxCells {
			if extra++; extra == 1 {
				ev.wrong(b.at(n), "too_many", "There are more elements than the question or the response allows.")
			}
			if err := ev.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		e := ev.newBlock(n.kids, b)
		e.index = len(c.elements)
		c.elements = append(c.elements, e)
		if ev.dec.PeekKind() == 'n' {
			ev.wrong(e.pointer(), "wrong_type", "The value must be an object of questions.")
		}
		if err := ev.members(e); err != nil {
			return err
		}
	}
	_, err := ev.dec.ReadToken()
	return err
}

// whole reads an object with all its members. What it returns holds until the
// next call.
func (ev *evaluation) whole() ([]member, error) {
	ev.list, ev.hold = ev.list[:0], ev.hold[:0]
	err := ev.object(func(name []byte) error {
		key := string(name)
		raw, err := ev.dec.ReadValue()
		if err != nil {
			return err
		}
		at := len(ev.hold)
		ev.hold = append(ev.hold, raw...)
		ev.list = append(ev.list, member{key, jsontext.Value(ev.hold[at:len(ev.hold):len(ev.hold)])})
		return nil
	})
	return ev.list, err
}
