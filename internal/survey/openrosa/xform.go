package openrosa

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the hash that Collect compares forms by; it protects nothing
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// Namespace is the namespace of our own attributes.
const Namespace = "urn:hearth:xforms"

// Options say what a form is for.
type Options struct {
	ID      string // of the form; the template's by default
	Title   string // of the form; the template's by default
	Version int    // of the template
	Survey  string // that the answers are for; "" for none
	// Households makes the form ask first for the household, from the file
	// HouseholdFile.
	Households bool
}

// HouseholdFile is the file of the households of a collector. Its columns are
// name, the DID, and label.
const HouseholdFile = "hearth_households.csv"

// Form is a template as an XForm.
type Form struct {
	ID      string
	Version string
	Title   string
	XML     []byte
	Hash    string   // of XML
	Files   []File   // that the form looks at, but for that of the households
	Lists   []string // entity lists that the form looks at, each as the file of its name and .csv

	root *item
}

// File is a file that goes with a form.
type File struct {
	Name    string
	Content []byte
}

// Hash is the hash that Collect compares contents by.
func Hash(content []byte) string {
	sum := md5.Sum(content) //nolint:gosec // as above
	return "md5:" + hex.EncodeToString(sum[:])
}

// NewForm makes the XForm of a compiled form. Sections that it does not select are
// never asked. The fault is XFORM_NOT_POSSIBLE: it names every expression that
// cannot be written in XPath, by its pointer in the template.
func NewForm(f *form.Form, o Options) (*Form, error) {
	t := f.Template()
	if o.ID == "" {
		o.ID = t.TemplateID
	}
	b := &builder{
		t: t, o: o, names: xlsform.NewPaths(t, rootPath), tags: xlsform.Tags(t), used: map[string]bool{},
		lists: map[string]*list{}, selected: f.Sections(),
	}
	root := b.root()
	if refused := fault.As(b.checks.Err("XFORM_NOT_POSSIBLE", "The template uses something that ODK Collect cannot do, so ODK Collect cannot ask it. It can be asked in every other way.")); refused != nil {
		refused.Kind = fault.Unprocessable
		return nil, refused
	}
	out := &Form{ID: o.ID, Version: fmt.Sprint(max(o.Version, 1)), Title: cmp.Or(o.Title, t.Title.In(t.Language(), t.Language()), o.ID), root: root}
	for _, l := range b.order {
		if l.file != nil {
			out.Files = append(out.Files, File{l.id + ".csv", l.file})
		}
		if l.twins {
			out.Lists = append(out.Lists, l.id)
		}
	}
	out.XML = (&writer{b: b, f: out}).write(root)
	out.Hash = Hash(out.XML)
	return out, nil
}

const (
	rootName = "data"
	rootPath = "/" + rootName
)

// builder makes the nodes of a form.
type builder struct {
	t        *form.Template
	o        Options
	names    *xlsform.Names
	tags     []string
	used     map[string]bool // members of a response that expressions name
	lists    map[string]*list
	order    []*list
	selected []string
	checks   fault.Checks
}

// pair is an attribute of an element.
type pair struct{ name, value string }

// role says what a node of the instance is to the answers.
type role int

const (
	ours     role = iota // not an answer: metadata, hints, calculated values
	section              // a section
	answer               // the answer of a question
	nested               // a group
	repeated             // an element of a repeat
	rows                 // a matrix
	row                  // a row of it
	amount               // a quantity
	part                 // a member of it
	other                // the answer in other words
	silence              // why there is no answer
	counter              // how many elements a repeat has
)

// item is a node of the instance, with its bind and its control.
type item struct {
	name    string
	path    string
	role    role
	q       *form.Question
	id      string // of the section, the question or the part, or the value of the row
	other   string // the node with the answer in other words
	value   string // that it begins with
	bind    []pair
	control string // "" when nobody sees it
	attrs   []pair // of the control
	label   form.Text
	hint    form.Text
	wrong   form.Text // what to say when the constraint is not met
	at      *xlsform.Named
	choices *choices
	count   string // of the elements of a repeat
	screen  bool   // the next items are on the same screen, as many as beside says
	beside  int
	kids    []*item
	fields  []*item           // attributes
	set     string            // expression for the value it begins with
	values  map[string]string // of options by the names they have here
}

func (i *item) add(kids ...*item) { i.kids = append(i.kids, kids...) }

func (i *item) kid(name string) *item {
	for _, k := range i.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

func (i *item) bound(name, value string) {
	if value != "" {
		i.bind = append(i.bind, pair{name, value})
	}
}

// choices are the options of a control.
type choices struct {
	list         *list
	filter       string
	value, label string // names in the items of the list
}

// list is a list of options, or a file of them.
type list struct {
	id      string
	options []form.Option
	spelled map[string]string
	file    []byte
	src     string // of a file that does not come from the template
	twins   bool   // it is an entity list
}

// free is a name that no sibling has.
func free(parent []form.Question, name string) string {
	for slices.ContainsFunc(parent, func(q form.Question) bool { return q.ID == name }) {
		name += "_"
	}
	return name
}
