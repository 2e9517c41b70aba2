package fault

import (
	"strings"
)

// What a client sent is repeated to it so that it finds its mistake, never so
// that a large request makes a larger answer.
const (
	maxEcho    = 100   // characters of a name or value a fault repeats
	maxPointer = 500   // characters of a pointer
	maxText    = 1_000 // characters of a message or detail
	maxFields  = 100   // wrong fields of one answer
)

// Cut marks a truncated text.
const Cut = "…"

// Echo is how a fault repeats a client's text: all of it, or its first 100
// characters and Cut.
func Echo(text string) string { return cut(text, maxEcho) }

// Pointer is how a fault repeats a pointer: each name in it is cut as by Echo,
// and the whole at 500 characters.
func Pointer(pointer string) string {
	if len(pointer) <= maxEcho { // almost all
		return pointer
	}
	names := strings.SplitN(pointer, "/", maxPointer+1)
	for i, name := range names {
		names[i] = Echo(name)
	}
	return cut(strings.Join(names, "/"), maxPointer)
}

// Brief returns e in the form for answers: at most 100 fields, pointers as
// Pointer cuts them, and no message or detail past 1,000 characters.
func (e *Error) Brief() *Error {
	c := *e
	c.Message = cut(e.Message, maxText)
	c.Fields = append([]Field(nil), e.Fields[:min(len(e.Fields), maxFields)]...)
	for i := range c.Fields {
		c.Fields[i].Pointer, c.Fields[i].Detail = Pointer(c.Fields[i].Pointer), cut(c.Fields[i].Detail, maxText)
	}
	return &c
}

// cut keeps the first characters of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for at := range text {
		if most == 0 {
			return text[:at] + Cut
		}
		most--
	}
	return text
}
