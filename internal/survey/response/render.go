package response

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// render makes the row of a prepared response.
func (pr *preparer) render(p *Prepared, r *form.Result) error {
	content, err := p.draft.content()
	if err != nil {
		return err
	}
	var whole jsontext.Value
	if r.Private != nil || p.draft.Location != nil {
		if whole, err = wholeOf(r.Answers, p.draft.Location); err != nil {
			return err
		}
	}
	salt, err := p.head.identify(p.open.Form, r.Public, whole)
	if err != nil {
		return err
	}
	p.head.Links.Evidence = Path(p.head.ResponseID) + "/evidence"
	p.whole = Whole{Answers: r.Answers, Location: p.draft.Location, Salt: salt}
	body, err := web.Encode(p.head)
	if err != nil {
		return err
	}
	p.row.Hash = pr.hashOf(p.row.Workspace, content)
	p.row.FirstHash = p.row.Hash
	p.row.Body, p.row.Answers = body, r.Public
	if r.Private == nil && p.draft.Location == nil {
		return nil
	}
	masked := r.Masked
	if p.draft.Location != nil {
		masked = append(masked[:len(masked):len(masked)], "/location")
	}
	if p.row.Masked, err = json.Marshal(masked); err != nil {
		return fmt.Errorf("encode what is masked: %w", err)
	}
	if p.private, err = json.Marshal(private{Answers: form.Object{Value: r.Private}, Location: p.draft.Location, Salt: salt}); err != nil {
		return fmt.Errorf("encode what is sealed: %w", err)
	}
	return nil
}

// private is the part of a response about a person. It is sealed.
type private struct {
	Answers  form.Object `json:"answers,omitzero"`
	Location *Location   `json:"location,omitzero"`
	Salt     string      `json:"salt,omitzero"` // of the hash over it in the contentId
}

// ref names the key that seals the answers of a response.
func (r *Row) ref(project string) vault.Ref {
	return vault.Ref{Workspace: r.Workspace, Project: project, Household: r.Household}
}

// bind keeps sealed answers in their response.
func (r *Row) bind() string { return strconv.FormatInt(r.NID, 10) }

// Whole is the whole content of a response.
type Whole struct {
	Answers  jsontext.Value
	Location *Location
	Salt     string // of the hash over all of it; "" without anything about a person
	Erased   bool   // the personal part can no longer be read
}

// Read returns the whole content of a response, including the personal part,
// whatever the caller may read: it is for comparing and correcting.
func (rd *reader) Read(ctx context.Context, q db.Querier, project string, r *Row) (Whole, error) {
	w := Whole{Answers: r.Answers}
	if len(r.Sealed) == 0 {
		return w, nil
	}
	text, err := rd.vault.Open(ctx, q, r.ref(project), r.bind(), r.Sealed)
	if errors.Is(err, vault.ErrDestroyed) {
		w.Erased = true
		return w, nil
	} else if err != nil {
		return w, err
	}
	var p private
	if err := json.Unmarshal(text, &p); err != nil {
		return w, fmt.Errorf("read what is sealed: %w", err)
	}
	w.Location, w.Salt = p.Location, p.Salt
	if !p.Answers.IsZero() {
		w.Answers, err = form.Merge(r.Answers, p.Answers.Value)
	}
	return w, err
}

// show renders a response for the caller of ctx, who sees it as seen.
func (rd *reader) show(ctx context.Context, q db.Querier, project string, r, seen *Row) ([]byte, error) {
	x := extras{masked: seen.Masked}
	w, err := Whole{Answers: seen.Answers}, error(nil)
	if len(r.Sealed) > 0 && web.CallerFrom(ctx).May(privacy.PII) {
		if w, err = rd.Read(ctx, q, project, r); err != nil {
			return nil, err
		}
		if !w.Erased {
			x.masked = nil
		}
	}
	if r.Flags > 0 {
		if x.flags, err = flag.List(ctx, q, r.NID); err != nil {
			return nil, err
		}
	}
	if r.Files > 0 {
		if x.waiting, err = media.Missing(ctx, q, r.NID, r.Knows(ctx)); err != nil {
			return nil, err
		}
	}
	return seen.show(w, x)
}

// shown is a response that was just stored as its sender sees it.
func (p *Prepared) shown(ctx context.Context, waiting []string) ([]byte, error) {
	x := extras{flags: flag.AllSeen(ctx, p.flags), masked: p.row.Masked, waiting: waiting}
	if x.masked == nil || web.CallerFrom(ctx).May(privacy.PII) {
		x.masked = nil
		return p.row.show(p.whole, x)
	}
	return p.row.show(Whole{Answers: p.row.Answers}, x)
}

// extras are what others have to say about a response.
type extras struct {
	masked  []byte
	waiting []string
	flags   []flag.Flag
}

// show assembles a record, the same as web.Encode of a Record. The stored part
// is an object that is continued.
func (r *Row) show(w Whole, x extras) ([]byte, error) {
	b := make([]byte, 0, len(r.Body)+len(w.Answers)+len(x.masked)+400)
	b = append(b, r.Body[:len(r.Body)-1]...)
	b = append(append(b, `,"recordId":"`...), privacy.RecordName(r.NID)...)
	b = append(append(b, `","responses":`...), w.Answers...)
	var err error
	add := func(name string, v any) {
		text, wrong := web.Encode(v)
		if wrong != nil {
			err = fmt.Errorf("encode %s: %w", name, wrong)
		}
		b = append(append(append(append(b, `,"`...), name...), `":`...), text...)
	}
	if w.Location != nil {
		add("location", w.Location)
	}
	if w.Salt != "" {
		add("personalSalt", w.Salt)
	}
	if len(x.masked) > 0 {
		b = append(append(b, `,"masked":`...), x.masked...)
	}
	if r.veiled {
		b = append(b, `,"pseudonymised":true`...)
	}
	if len(x.waiting) > 0 {
		add("missingAttachments", x.waiting)
	}
	b = strconv.AppendInt(append(b, `,"revision":`...), r.Revision, 10)
	b = appendTime(append(b, `,"updated":`...), r.UpdatedAt)
	b = r.appendVerification(append(b, `,"verification":`...))
	if len(x.flags) > 0 {
		add("flags", x.flags)
	} else {
		b = append(b, `,"flags":[]`...)
	}
	return append(b, '}'), err
}

func appendTime(b []byte, ms int64) []byte {
	return append(time.UnixMilli(ms).UTC().AppendFormat(append(b, '"'), web.TimeFormat), '"')
}

// appendVerification is web.Encode of Verification: every member is a word, a
// DID, a number or a time, which need no escapes.
func (r *Row) appendVerification(b []byte) []byte {
	v := r.Verification()
	b = append(append(append(b, `{"status":"`...), v.Status...), '"')
	if v.Verifier != "" {
		b = append(append(append(b, `,"verifier":"`...), v.Verifier...), '"')
	}
	if r.VerifiedAt > 0 {
		b = appendTime(append(b, `,"timestamp":`...), r.VerifiedAt)
	}
	if v.Outcome != "" {
		b = append(append(append(b, `,"outcome":"`...), v.Outcome...), '"')
	}
	if v.Reviews > 0 {
		b = strconv.AppendInt(append(b, `,"reviews":`...), int64(v.Reviews), 10)
	}
	if v.Imported {
		b = append(append(append(b, `,"imported":true,"importedBy":"`...), v.ImportedBy...), '"')
	}
	return append(b, '}')
}

// Verification is the decision about the response.
func (r *Row) Verification() Verification {
	v := Verification{Status: r.VStatus, Verifier: r.Verifier, Reviews: int(r.Reviews), Imported: r.ImportedBy != "", ImportedBy: r.ImportedBy}
	if r.VerifiedAt > 0 {
		v.Timestamp = time.UnixMilli(r.VerifiedAt).UTC()
	}
	switch r.VStatus {
	case Verified:
		v.Outcome = "approved"
	case Rejected, Invalidated:
		v.Outcome = "rejected"
	}
	return v
}
