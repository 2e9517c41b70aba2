package response

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const maxDiff = 100 // differences that are named

// Version is one of two contents that are compared.
type Version struct {
	Head  Head
	Whole Whole
}

// Sent is the prepared content, without defaults for what was not sent.
func (p *Prepared) Sent() Version {
	h, d := p.head, p.draft
	h.Collector, h.Round, h.Mode, h.DurationSec = d.Collector, d.Round, d.Mode, d.DurationSec
	return Version{Head: h, Whole: p.whole}
}

// defaulted are members that differ only when they are sent.
var defaulted = []string{"/collector", "/round", "/mode", "/durationSec"}

// telling are members that identify a person, or may. The first is sealed; the
// collector or sender of a response may read the others.
var telling = []string{"/location", "/householdId", "/collector", "/deviceId", "/metadata"}

// Version is the content that is stored.
func (rd *reader) Version(ctx context.Context, q db.Querier, project string, r *Row) (Version, error) {
	head, err := r.Head()
	if err != nil {
		return Version{}, err
	}
	whole, err := rd.Read(ctx, q, project, r)
	return Version{head, whole}, err
}

// Compare lists the differences between a stored response and another content,
// as far as the caller of ctx may know them: answers about a person need the
// scope responses:pii, and any value needs the scope responses:read or that the
// caller has collected or sent the response.
func Compare(ctx context.Context, o *survey.Open, r *Row, stored, sent Version) []Difference {
	caller := web.CallerFrom(ctx)
	pii, knows := caller.May(privacy.PII), r.Knows(ctx)
	may := caller.May("responses:read") || caller.DID == r.Collector || caller.DID == r.Sender
	var out []Difference
	add := func(pointer string, was, is form.Value, private bool) {
		if len(out) == maxDiff || private && !knows {
			return
		}
		d := Difference{Pointer: pointer, Masked: !may || private && !pii && !slices.Contains(telling[1:], pointer)}
		if !d.Masked {
			d.Stored, d.Sent = was, is
		}
		out = append(out, d)
	}
	was, is := members(stored), members(sent)
	for i, m := range was {
		if is[i].text == nil && slices.Contains(defaulted, m.pointer) {
			continue
		}
		if !bytes.Equal(m.text, is[i].text) {
			add(m.pointer, form.Value{Value: m.text}, form.Value{Value: is[i].text}, slices.Contains(telling, m.pointer))
		}
	}
	for _, ch := range form.Compare(stored.Whole.Answers, sent.Whole.Answers) {
		add(ch.Pointer, ch.Old, ch.New, form.IsPrivate(o.Form, ch.Pointer))
	}
	if !knows {
		// Always the same: a caller who sees which answers differ could guess
		// them all.
		out = append(out, Difference{Pointer: "/householdId", Masked: true})
		if len(r.Masked) > 0 {
			out = append(out, Difference{Pointer: "/responses", Masked: true})
		}
	}
	return out
}

type member struct {
	pointer string
	text    jsontext.Value // nil for none
}

// members are the parts of a content besides its answers.
func members(v Version) []member {
	h := &v.Head
	out := []member{
		{"/householdId", textOf(h.HouseholdID)},
		{"/timestamp", textOf(h.Timestamp.UTC().Format(web.TimeFormat))},
		{"/startedAt", nil},
		{"/round", textOf(h.Round)},
		{"/collector", textOf(h.Collector)},
		{"/mode", textOf(h.Mode)},
		{"/deviceId", textOf(h.DeviceID)},
		{"/durationSec", textOf(h.DurationSec)},
		{"/language", textOf(h.Language)},
		{"/supersedes", textOf(h.Supersedes)},
		{"/attachments", textOf(h.Attachments)},
		{"/metadata", textOf(h.Metadata)},
		{"/location", textOf(v.Whole.Location)},
	}
	if !h.StartedAt.IsZero() {
		out[2].text = textOf(h.StartedAt.UTC().Format(web.TimeFormat))
	}
	return out
}

// textOf is a value as canonical JSON, nil for one that says nothing.
func textOf(v any) jsontext.Value {
	b, err := web.Encode(v)
	text := jsontext.Value(b)
	if err != nil || slices.Contains([]string{`""`, "null", "0", "[]", "{}"}, string(b)) || text.Canonicalize() != nil {
		return nil
	}
	return text
}

// conflict says how a draft differs from what is stored under its id. If that
// belongs to another survey it says only that the id is taken. There is no fault
// when both are equivalent, for example with and without a default.
func (rd *reader) conflict(ctx context.Context, tx *db.Tx, p *Prepared, r *Row) error {
	if r.Survey != p.row.Survey {
		return Taken()
	}
	stored, err := rd.Version(ctx, tx, p.open.Project, r)
	if err != nil {
		return err
	}
	sent := p.Sent()
	if !r.Knows(ctx) {
		if err := form.RenameAll(p.open.Form, rd.Sight(ctx, p.open), &stored.Whole.Answers, &sent.Whole.Answers); err != nil {
			return err
		}
	}
	all := Compare(ctx, p.open, r, stored, sent)
	if len(all) == 0 {
		return nil // other words for the same
	}
	return Differs(web.Current{ETag: web.ETag(r.Revision), Revision: r.Revision, Href: Path(r.ResponseID)}, all)
}
