package form

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// What a difference means to responses and exports.
const (
	Identical  = "identical"
	Compatible = "compatible" // every old response still fits and means the same
	Breaking   = "breaking"
)

// Diff compares two templates by what a pinned response or an export would
// notice. The id of the template is not compared.
func Diff(old, new *Template) Difference {
	d := &differ{}
	d.changed("/title", !maps.Equal(old.Title, new.Title), false, "The title changed.")
	d.changed("/description", !maps.Equal(old.Description, new.Description), false, "The description changed.")
	d.changed("/stage", old.Stage != new.Stage, true, "The stage changed.")
	d.changed("/defaultLanguage", old.Language() != new.Language(), false, "The default language changed.")
	d.changed("/languages", !sameSet(old.Languages, new.Languages), false, "The languages changed.")
	d.changed("/reviewIntervalDays", old.ReviewIntervalDays != new.ReviewIntervalDays, false, "The review interval changed.")
	d.changed("/metadata", !check.SameJSON(old.Metadata.Value, new.Metadata.Value), false, "The metadata changed.")
	a, b := old.Validations, new.Validations
	d.changed("/validations/completionThreshold", a.CompletionThreshold != b.CompletionThreshold, b.CompletionThreshold > a.CompletionThreshold,
		fmt.Sprintf("The completion threshold went from %v to %v.", a.CompletionThreshold, b.CompletionThreshold))
	d.changed("/validations/consentOptional", a.ConsentOptional != b.ConsentOptional, a.ConsentOptional,
		"The rule that a response may be complete without an answer to the consent question changed.")
	d.set("/validations/requiredSections", a.RequiredSections, b.RequiredSections, setRule{added: true})
	d.changed("/entity", !alike(old.Entity, new.Entity), false, "The way answers create or change twins changed.")
	d.files(old.Files, new.Files)
	d.sections(old.Sections, new.Sections)
	return d.result()
}

// files compares the contents of files by their names.
func (d *differ) files(a, b []DataFile) {
	compare(d, "/files", a, b, comparison[DataFile]{
		what: "file", id: func(f *DataFile) string { return f.Name },
		both: func(at string, was, f *DataFile) {
			d.changed(at, was.SHA256 != f.SHA256, true, "The content of the file changed: choices may be missing, and look-ups may give other values.")
		},
	})
}

// comparison is how lists of things are compared by their ids.
type comparison[T any] struct {
	what    string // a thing is
	id      func(*T) string
	ordered bool          // where one stands is told of
	gone    func(*T) bool // reports whether the change breaks when one is removed, nil: never
	fresh   func(*T) bool // or added
	both    func(at string, was, is *T)
}

func compare[T any](d *differ, pointer string, a, b []T, c comparison[T]) {
	olds, news := map[string]*T{}, map[string]*T{}
	for i := range a {
		olds[c.id(&a[i])] = &a[i]
	}
	for i := range b {
		news[c.id(&b[i])] = &b[i]
	}
	var before, after []string // those of both, in order
	for i := range a {
		id := c.id(&a[i])
		if news[id] != nil {
			before = append(before, id)
			continue
		}
		d.note(TemplateChange{Pointer: pointer + "/" + check.Escape(id), Kind: "removed", Breaking: c.gone != nil && c.gone(&a[i]), Detail: "The " + c.what + " was removed."})
	}
	for i := range b {
		id := c.id(&b[i])
		at := pointer + "/" + check.Escape(id)
		if was := olds[id]; was != nil {
			after = append(after, id)
			c.both(at, was, &b[i])
			continue
		}
		d.note(TemplateChange{Pointer: at, Kind: "added", Breaking: c.fresh != nil && c.fresh(&b[i]), Detail: "The " + c.what + " was added."})
	}
	if c.ordered && !slices.Equal(before, after) {
		d.note(TemplateChange{Pointer: pointer, Kind: "moved", Detail: "The order changed."})
	}
}

// alike reports whether two values that need not be there are the same.
func alike[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// differ gathers changes.
type differ struct {
	changes []TemplateChange
	more    bool
	broken  bool
}

func (d *differ) result() Difference {
	out := Difference{Verdict: Identical, Changes: d.changes, More: d.more}
	switch {
	case d.broken:
		out.Verdict = Breaking
	case len(d.changes) > 0:
		out.Verdict = Compatible
	default:
		out.Changes = []TemplateChange{}
	}
	return out
}

func (d *differ) note(c TemplateChange) {
	d.broken = d.broken || c.Breaking
	if len(d.changes) >= maxChanges {
		d.more = true
		return
	}
	d.changes = append(d.changes, c)
}

func (d *differ) changed(pointer string, differs, breaking bool, detail string) {
	if differs {
		d.note(TemplateChange{Pointer: pointer, Kind: "changed", Breaking: breaking, Detail: detail})
	}
}

// setRule says which change of a set breaks.
type setRule struct{ added, removed bool }

// set compares lists of words whose order says nothing.
func (d *differ) set(pointer string, a, b []string, r setRule) {
	for _, w := range a {
		if !slices.Contains(b, w) {
			d.note(TemplateChange{Pointer: pointer + "/" + check.Escape(w), Kind: "removed", Breaking: r.removed, Detail: "The value was removed."})
		}
	}
	for _, w := range b {
		if !slices.Contains(a, w) {
			d.note(TemplateChange{Pointer: pointer + "/" + check.Escape(w), Kind: "added", Breaking: r.added, Detail: "The value was added."})
		}
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func (d *differ) sections(a, b []Section) {
	compare(d, "/sections", a, b, comparison[Section]{
		what: "section", id: func(s *Section) string { return s.ID }, ordered: true,
		gone: func(*Section) bool { return true }, fresh: func(s *Section) bool { return demands(s.Questions) },
		both: func(at string, was, s *Section) {
			d.changed(at+"/title", !maps.Equal(was.Title, s.Title), false, "The title changed.")
			d.changed(at+"/hint", !maps.Equal(was.Hint, s.Hint), false, "The hint changed.")
			d.changed(at+"/flag", was.Flag != s.Flag, true, "The flag that selects the section changed.")
			d.relevant(at, was.Relevant, s.Relevant, demands(s.Questions))
			d.questions(at+"/questions", was.Questions, s.Questions)
		},
	})
}

// relevant compares skip logic. Always asking what was asked sometimes breaks
// only when an answer is then required.
func (d *differ) relevant(at, a, b string, demanding bool) {
	d.changed(at+"/relevant", a != b, b != "" || demanding, "The condition for asking it changed.")
}

// demands reports whether a question is required at any level.
func demands(questions []Question) bool {
	return slices.ContainsFunc(questions, func(q Question) bool {
		return !q.Required.IsZero() || q.MinRepeats > 0 || demands(q.Questions) && !KindOf(q.Type).Repeated
	})
}
