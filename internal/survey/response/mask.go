package response

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Sight is how the caller of ctx sees who is who in a survey.
func (rd *reader) Sight(ctx context.Context, o *survey.Open) privacy.Sight {
	c := web.CallerFrom(ctx)
	return privacy.See(c.DID, c.May, rd.vault.Pseudonyms(o.Workspace, o.Project))
}

// Knows reports whether the caller may know who a response is about: by scope,
// or because the caller has collected or sent it.
func (r *Row) Knows(ctx context.Context) bool {
	c := web.CallerFrom(ctx)
	return c.May(privacy.PII) || c.Known() && (c.DID == r.Collector || c.DID == r.Sender)
}

// veil is a response as the caller of ctx sees it.
func (r *Row) veil(ctx context.Context, x privacy.Sight, f *form.Form) (*Row, error) {
	if r.Knows(ctx) {
		return r, nil
	}
	return r.Veiled(x, f)
}

// Veiled returns a response with pseudonyms, and without what its sender added.
func (r *Row) Veiled(x privacy.Sight, f *form.Form) (*Row, error) {
	h, err := r.Head()
	if err != nil {
		return nil, err
	}
	v := *r
	v.veiled = true
	v.Household, v.Collector, v.Sender = x.Household(r.Household), x.Person(r.Collector), x.Person(r.Sender)
	v.Verifier, v.ImportedBy, v.Actor = r.Person(x, r.Verifier), r.Person(x, r.ImportedBy), r.Person(x, r.Actor)
	h.HouseholdID, h.Collector, h.SubmittedBy, h.DeviceID = v.Household, v.Collector, v.Sender, x.Device(h.DeviceID)
	if h.Content != nil { // with the salt anybody could try out DIDs until one fits
		shown := *h.Content
		shown.WhoSalt, h.Content = "", &shown
	}
	if !h.Metadata.IsZero() {
		h.Metadata = form.Object{}
		if v.Masked, err = plus(r.Masked, "/metadata"); err != nil {
			return nil, err
		}
	}
	if v.Body, err = web.Encode(h); err != nil {
		return nil, err
	}
	v.Answers, err = form.Rename(f, r.Answers, x)
	return &v, err
}

// Person is the name of somebody involved in a response. A person who decides
// is shown by DID; a collector or sender gets a pseudonym.
func (r *Row) Person(x privacy.Sight, id string) string {
	if id == r.Collector || id == r.Sender {
		return x.Person(id)
	}
	return id
}

// plus is a JSON list of pointers with one more.
func plus(list []byte, pointer string) ([]byte, error) {
	var all []string
	if len(list) > 0 {
		if err := json.Unmarshal(list, &all); err != nil {
			return nil, fmt.Errorf("read what is masked: %w", err)
		}
	}
	return json.Marshal(append(all, pointer))
}

// unveiled resolves the pseudonyms in the draft of a caller who has read
// pseudonyms, and keeps what the caller could not read and does not send.
func (rd *reader) unveiled(ctx context.Context, o *survey.Open, r *Row, d *Draft) (*Draft, error) {
	h, err := r.Head()
	if err != nil || r.Knows(ctx) {
		return d, err
	}
	x, next := rd.Sight(ctx, o), *d
	back := func(to *string, name, is string) {
		if *to == name {
			*to = is
		}
	}
	back(&next.HouseholdID, x.Household(r.Household), r.Household)
	back(&next.Collector, x.Person(r.Collector), r.Collector)
	if back(&next.DeviceID, x.Device(h.DeviceID), h.DeviceID); next.DeviceID == "" {
		next.DeviceID = h.DeviceID
	}
	if next.Metadata.IsZero() {
		next.Metadata = h.Metadata
	}
	renamed, err := form.Restore(o.Form, d.Responses.Value, r.Answers, x)
	if err != nil {
		return &next, nil // the check reports the mistakes
	}
	next.Responses.Value = renamed
	return &next, nil
}
