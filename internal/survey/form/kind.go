package form

import (
	"maps"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// Kind is everything the program knows about a type of question. Each type is
// one value, in the file of its family: text.go, number.go, choice.go, date.go,
// place.go, media.go, structure.go. Code that treats a type differently asks
// its kind, and never compares names of types.
type Kind struct {
	Type Type
	Members

	Nested     bool // it has questions instead of an answer
	Repeated   bool // Nested, any number of times
	Shown      bool // people only read it; there is no answer
	Calculated bool // the server gives the answer
	Consent    bool // the answer says whether the respondent agrees to the interview

	CEL       cel.Type // of the answer; that of records is made for each question
	Several   bool     // the answer is an array of options
	Ordered   bool     // and their order is the answer
	Takes     Type     // every answer of this type is one of the kind too
	Day       bool     // the answer is a day, not a moment
	Clock     bool     // answers sort correctly as texts
	Parts     []Part   // of an answer that is an object
	Place     bool     // it says where somebody is: below full detail it is rounded
	Household bool     // it names a household
	Twin      bool     // it names a twin, which may be on an entity list
	Serial    bool     // it is the number on a thing, or its DID
	Keyless   bool     // such an answer cannot be typed on the keys of a telephone
	Media     bool     // it names a file that was sent
	Recorded  bool     // the file is made in the interview
	Personal  bool     // the file stays closed, whichever way the question is marked as personal

	Quality Quality
	XLSForm XLSForm
	XForm   XForm
	// Parse reads an answer that is written as plain text, such as a default of
	// XLSForm; option returns the value of an option by its name there. Nil
	// when no text can be an answer.
	Parse func(text string, option func(name string) string) (any, bool)

	low, high float64 // bounds of questions that name none; none when both are 0
	whole     bool    // numbers are integers
	read      func(*answering) error
	object    func(*answering, []member)           // reads an object; nil when none is an answer
	want      func(s string) string                // says what a text must be, or nothing when s is valid
	value     func(*block, *node, *cell) cel.Value // the answer in expressions
}

// Members holds the members of a question that only some kinds have.
type Members struct {
	Options    bool // needs options
	Rows       bool // needs rows, each answered with an option
	Other      bool // may take an answer in other words
	NoAnswer   bool // may have the answers dontKnow and refused
	Bounds     bool // min, max and step
	Length     bool // regex and maxLength
	Selections bool // minSelections and maxSelections
	Unit       bool
	Units      bool // needs units, or a unit
}

// Part is a member of an answer that is an object. It has a column of its own
// in exports.
type Part struct {
	Name   string
	Suffix string // of its column
	Type   Type   // of its value
	Unit   string
	// Detail says more about the answer: reason codes for missing answers do
	// not appear here, and the details of a place are only in exports with
	// everything.
	Detail bool
}

// Quality says how the checks of responses treat answers of a kind.
type Quality struct {
	Amount   bool // numbers that can be too large or too small
	Choice   bool // choices whose shares are compared
	Scale    bool // one of a few values: the same one all along is suspicious
	Identity bool // if marked as direct, it identifies a person
	Code     bool // a number or text that may be a telephone number or the number of a card
	Unique   bool // no two households have the same
	Loose    bool // people write the same answer in different ways
	Apart    bool // it says nothing about whether two interviews are alike
}

// XLSForm says how to write questions of a kind there.
type XLSForm struct {
	Word       string   // the type
	Reads      []string // types that are read as the kind
	Marks      []string // types that are read as the kind when the column hearth_type names it
	Appearance string   // distinguishes the kind from others of the same type
	Amid       bool     // also among other words
	Range      bool     // a range, when it has two bounds and a step
}

// XForm says how to write questions of a kind in an XForm, the form that ODK
// Collect reads.
type XForm struct {
	Type    string // of the value
	Control string // what asks for it; "" for what nobody sees
	Accept  string // media type of a file
	// Read reads a value that a device has sent; nil is Parse.
	Read func(text string) (any, bool)
}

// kinds are all of them.
var kinds = index(texts, numbers, choices, dates, places, media, structures)

func index(families ...[]*Kind) map[Type]*Kind {
	out := map[Type]*Kind{}
	for _, family := range families {
		for _, k := range family {
			out[k.Type] = k
		}
	}
	return out
}

// unknownKind is the kind of types that do not exist.
var unknownKind = &Kind{CEL: cel.Any}

// KindOf returns the kind of a type. The kind of a type that does not exist has
// no properties at all.
func KindOf(t Type) *Kind {
	if k, ok := kinds[t]; ok {
		return k
	}
	return unknownKind
}

// Kinds returns all kinds in the order of their names.
func Kinds() []*Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b *Kind) int { return strings.Compare(string(a.Type), string(b.Type)) })
}

// Asked reports whether people answer questions of the kind.
func (k *Kind) Asked() bool { return !k.Shown && !k.Calculated && !k.Nested }

// Serial reports whether a question asks for the number on a thing, which
// identifies its owner: a barcode, the DID of a twin, or a text or number whose id
// says so.
func (q *Question) Serial() bool {
	k, id := KindOf(q.Type), strings.ToLower(q.ID)
	return k.Serial || k.Quality.Code && slices.ContainsFunc([]string{"serial", "barcode", "imei"}, func(word string) bool { return strings.Contains(id, word) })
}

// typeNames are the types for people.
func typeNames() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k.Type))
	}
	return strings.Join(names, ", ")
}
