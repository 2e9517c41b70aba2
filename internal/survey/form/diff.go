package form

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

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
	d.changed("/metadata", !sameJSON(old.Metadata.Value, new.Metadata.Value), false, "The metadata changed.")
	a, b := old.Validations, new.Validations
	d.changed("/validations/completionThreshold", a.CompletionThreshold != b.CompletionThreshold, b.CompletionThreshold > a.CompletionThreshold,
		fmt.Sprintf("The completion threshold went from %v to %v.", a.CompletionThreshold, b.CompletionThreshold))
	d.changed("/validations/consentOptional", a.ConsentOptional != b.ConsentOptional, a.ConsentOptional,
		"The rule that a response may be complete without an answer to the consent question changed.")
	d.set("/validations/requiredSections", a.RequiredSections, b.RequiredSections, setRule{added: true})
	d.changed("/entity", !sameEntity(old.Entity, new.Entity), false, "The way answers create or change twins changed.")
	d.files(old.Files, new.Files)
	d.sections(old.Sections, new.Sections)
	return d.result()
}

func sameEntity(a, b *Entity) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// files compares the contents of files by their names.
func (d *differ) files(a, b []DataFile) {
	name := func(f *DataFile) string { return f.Name }
	olds, news := ids(a, name), ids(b, name)
	for i := range a {
		if news[a[i].Name] == nil {
			d.note(TemplateChange{Pointer: "/files/" + check.Escape(a[i].Name), Kind: "removed", Breaking: false, Detail: "The file was removed."})
		}
	}
	for i := range b {
		here, was := "/files/"+check.Escape(b[i].Name), olds[b[i].Name]
		if was == nil {
			d.note(TemplateChange{Pointer: here, Kind: "added", Detail: "The file was added."})
			continue
		}
		d.changed(here, was.SHA256 != b[i].SHA256, true, "The content of the file changed: choices may be missing, and look-ups may give other values.")
	}
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

func sameJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

func (d *differ) sections(a, b []Section) {
	olds, news := ids(a, func(s *Section) string { return s.ID }), ids(b, func(s *Section) string { return s.ID })
	for i := range a {
		if news[a[i].ID] == nil {
			d.note(TemplateChange{Pointer: "/sections/" + a[i].ID, Kind: "removed", Breaking: true, Detail: "The section was removed."})
		}
	}
	for i := range b {
		s, at := &b[i], "/sections/"+b[i].ID
		was := olds[s.ID]
		if was == nil {
			d.note(TemplateChange{Pointer: at, Kind: "added", Breaking: demands(s.Questions), Detail: "The section was added."})
			continue
		}
		d.changed(at+"/title", !maps.Equal(was.Title, s.Title), false, "The title changed.")
		d.changed(at+"/hint", !maps.Equal(was.Hint, s.Hint), false, "The hint changed.")
		d.changed(at+"/flag", was.Flag != s.Flag, true, "The flag that selects the section changed.")
		d.relevant(at, was.Relevant, s.Relevant, demands(s.Questions))
		d.questions(at+"/questions", was.Questions, s.Questions)
	}
	d.moved("/sections", sequence(a, news), sequence(b, olds))
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

// ids finds things by their id.
func ids[T any](all []T, id func(*T) string) map[string]*T {
	out := make(map[string]*T, len(all))
	for i := range all {
		out[id(&all[i])] = &all[i]
	}
	return out
}

// identified is what has an id.
type identified interface{ Section | Question | Option }

// sequence lists the ids of all that also stand in other, in order.
func sequence[T identified](all []T, other map[string]*T) []string {
	var out []string
	for i := range all {
		id := ""
		switch x := any(&all[i]).(type) {
		case *Section:
			id = x.ID
		case *Question:
			id = x.ID
		case *Option:
			id = x.Value
		}
		if other[id] != nil {
			out = append(out, id)
		}
	}
	return out
}

func (d *differ) moved(pointer string, a, b []string) {
	if !slices.Equal(a, b) {
		d.note(TemplateChange{Pointer: pointer, Kind: "moved", Detail: "The order changed."})
	}
}
