package form

import (
	"slices"

	"github.com/hearth-dmrv/hearth/api"
)

// SectionView is a section as one person sees it.
type SectionView struct {
	ID        string         `json:"id"`
	Title     string         `json:"title,omitzero"`
	Hint      string         `json:"hint,omitzero"`
	Relevant  bool           `json:"relevant"`
	Questions []QuestionView `json:"questions"`
}

// QuestionView is a question as one person sees it.
type QuestionView struct {
	ID        string              `json:"id"`
	Type      Type                `json:"type"`
	Label     string              `json:"label,omitzero"`
	Hint      string              `json:"hint,omitzero"`
	Unit      string              `json:"unit,omitzero"`
	Relevant  bool                `json:"relevant"`
	Required  bool                `json:"required"`
	ReadOnly  bool                `json:"readOnly,omitzero"`
	Answer    Value               `json:"answer,omitzero" doc:"As answered or calculated."`
	Options   []api.PreviewOption `json:"options,omitzero" doc:"Options that remain with these answers; at most 1,000."`
	Rows      []api.PreviewOption `json:"rows,omitzero"`
	Questions []QuestionView      `json:"questions,omitzero" doc:"Questions of a group; for a repeat those of its first element, or of an empty one."`
	Elements  [][]QuestionView    `json:"elements,omitzero" doc:"For a repeat with answers: the questions as each of its elements has them. Options and rows that do not depend on answers are in questions only."`
}

// View renders the selected sections in one language. r is the result of a
// check by this form, or nil before there are answers. Questions without a
// label show their id, options without one their value. Titles, labels and
// hints show the answers that they name.
func (f *Form) View(lang string, r *Result) []SectionView {
	if r == nil {
		r = f.Check(Input{})
	}
	r.ev.cost, r.ev.budget = 0, maxViewCost // the filters of all options, and not of those that were chosen
	room := maxFilled
	return f.view(viewer{lang: lang, fallback: f.t.Language(), room: &room}, r)
}

func (f *Form) view(v viewer, r *Result) []SectionView {
	views := []SectionView{}
	for i, s := range f.sections {
		if !f.selected[i] {
			continue
		}
		b := &r.ev.blocks[i]
		views = append(views, SectionView{
			ID: s.id, Title: v.spoken(b, s.s.Title), Hint: v.spoken(b, s.s.Hint),
			Relevant: b.standing().is(), Questions: v.questions(b),
		})
	}
	return views
}

type viewer struct {
	lang, fallback string
	brief          bool // without what is shown elsewhere already
	room           *int // bytes of texts that may still be filled
}

func (v viewer) in(t Text) string { return t.In(v.lang, v.fallback) }

func (v viewer) questions(b *block) []QuestionView {
	views := make([]QuestionView, 0, len(b.box.nodes))
	for _, n := range b.box.nodes {
		c, asked := &b.cells[n.index], b.asks(n)
		q := QuestionView{
			ID: n.id, Type: n.q.Type, Label: v.spoken(b, n.q.Label), Hint: v.spoken(b, n.q.Hint), Unit: n.q.Unit,
			Relevant: asked, ReadOnly: n.q.ReadOnly || n.kind.Calculated,
		}
		q.Required = asked && b.requires(n)
		if !v.brief || n.q.ChoiceFilter != "" {
			q.Options, q.Rows = v.offered(b, n), v.options(n.q.Rows)
		}
		if q.Label == "" {
			q.Label = n.id
		}
		if b.stands(n) {
			q.Answer = Value{Value: slices.Clone(b.canonical(c))}
		}
		switch {
		case len(c.elements) > 0:
			q.Questions = v.questions(c.elements[0])
			q.Elements = v.elements(c.elements)
		case n.kind.Repeated:
			q.Questions = v.questions(b.ev.newBlock(n.kids, b))
		case n.kind.Nested:
			q.Questions = v.questions(c.kids)
		}
		views = append(views, q)
	}
	return views
}

// elements are the questions of a repeat, once for each of its elements, because
// what is asked in one may not be asked in another. Their options are listed
// once, with the question; otherwise a few hundred elements would repeat each
// list as often.
func (v viewer) elements(list []*block) [][]QuestionView {
	v.brief = true
	out := make([][]QuestionView, len(list))
	for i, b := range list {
		out[i] = v.questions(b)
	}
	return out
}

func (v viewer) options(options []Option) []api.PreviewOption {
	var views []api.PreviewOption
	for _, o := range options {
		label := v.in(o.Label)
		if label == "" {
			label = o.Value
		}
		views = append(views, api.PreviewOption{Value: o.Value, Label: label})
	}
	return views
}
