package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of a decision about many responses.
const (
	maxBulk   = 500   // responses in one call
	bulkChunk = 20    // responses in one transaction
	scanPage  = 200   // responses in one look of a filter
	maxLooked = 2_000 // responses a filter looks at in one call
)

// Bulk is one decision about many responses: those named, or those a filter
// selects.
type Bulk struct {
	Draft
	Responses []Named `json:"responses,omitzero" doc:"At most 500."`
	Filter    *Filter `json:"filter,omitzero" doc:"In place of responses."`
}

// Named is a response with the revision that was judged.
type Named struct {
	ResponseID string `json:"responseId" doc:"Its id or recordId." example:"resp_789"`
	Revision   *int64 `json:"revision" doc:"The revision you judged." example:"1"`
}

// Filter selects responses of a survey.
type Filter struct {
	Status    string `json:"status" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed" doc:"The state they are in."`
	AsOf      *int64 `json:"asOf" doc:"The moment of the list you have read: page.asOf of the responses of the survey. Responses that changed or arrived since are skipped." example:"4711"`
	Flagged   *bool  `json:"flagged,omitzero" doc:"true: only flagged responses; false: only the others."`
	Rule      string `json:"rule,omitzero" doc:"Only responses that this check flagged." example:"duration_short"`
	Collector string `json:"collector,omitzero" minLength:"1" doc:"Only those of one collector, named as responses show it to you: a DID, or a name without the scope responses:pii."`
	Round     int    `json:"round,omitzero" doc:"Only those of one round."`
	After     string `json:"after,omitzero" doc:"Id of the response to continue after: next of the previous call."`
	Limit     int    `json:"limit,omitzero" doc:"Largest number of responses, 1 to 500; 500 by default."`
}

const staleCode = "STALE_REVISION"

// The results of one response of a bulk.
const (
	Changed   = "changed"
	Unchanged = "unchanged"
	Refused   = "refused"
	Skipped   = "skipped"
)

func (b *Bulk) check() error {
	var c fault.Checks
	checkDraft(&b.Draft, &c)
	switch {
	case (len(b.Responses) > 0) == (b.Filter != nil):
		c.Add("/responses", "one_of", "Send either responses or filter.")
	case len(b.Responses) > maxBulk:
		c.Add("/responses", "too_many", fmt.Sprintf("There may be %d responses at most.", maxBulk))
	}
	for i, n := range b.Responses {
		c.Require(n.ResponseID != "", fmt.Sprintf("/responses/%d/responseId", i))
	}
	if f := b.Filter; f != nil {
		if len(moves[f.Status]) == 0 {
			c.Add("/filter/status", "not_allowed", "The value must be a state that a decision can change.")
		}
		if f.Limit < 0 || f.Limit > maxBulk {
			c.Add("/filter/limit", "out_of_range", fmt.Sprintf("The value must be 1 to %d.", maxBulk))
		}
		if f.Round < 0 {
			c.Add("/filter/round", "out_of_range", "Rounds are counted from 1.")
		}
	}
	if err := c.Err(invalidCode, "The decision is not valid."); err != nil {
		return err
	}
	if b.Filter != nil && b.Filter.AsOf == nil {
		return web.Unnamed("/filter/asOf", "Send page.asOf of the list of responses you have read.")
	}
	if i := slices.IndexFunc(b.Responses, func(n Named) bool { return n.Revision == nil }); i >= 0 {
		return web.Unnamed(fmt.Sprintf("/responses/%d/revision", i), "Send the revision of the response you judged.")
	}
	return nil
}

// Bulk makes one decision about many responses of a survey, a few in each
// transaction: when the call breaks off, what is stored stays, and repeating
// the call does no harm. Each response has its own result. Faults:
// VERIFICATION_INVALID, PRECONDITION_REQUIRED, SURVEY_NOT_FOUND,
// RESPONSE_NOT_FOUND for filter.after.
func (s *Service) Bulk(ctx context.Context, surveyID string, b Bulk) (*Outcome, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Items: []api.BulkItem{}}
	var all []candidate
	if b.Filter != nil {
		all, out.Next, err = s.choose(ctx, o, b.Filter)
	} else {
		all, err = s.named(ctx, o, b.Responses)
	}
	if err != nil {
		return nil, err
	}
	as, err := s.cfg.ActsFor.Selves(ctx)
	if err != nil {
		return nil, err
	}
	// Whoever holds several responses takes them in this order.
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.nid, b.nid) })
	for part := range slices.Chunk(all, bulkChunk) {
		var items []api.BulkItem
		err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			items, err = s.bulkTx(ctx, tx, o, part, order{as: as, Draft: b.Draft})
			return err
		})
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, items...)
	}
	countItems(out)
	return out, nil
}

func countItems(o *Outcome) {
	for _, it := range o.Items {
		switch it.Result {
		case Changed:
			o.Changed++
		case Unchanged:
			o.Unchanged++
		case Skipped:
			o.Skipped++
		default:
			o.Refused++
		}
	}
}

// bulkTx decides about a few responses.
func (s *Service) bulkTx(ctx context.Context, tx *db.Tx, o *survey.Open, part []candidate, want order) ([]api.BulkItem, error) {
	items := make([]api.BulkItem, len(part))
	var deltas []survey.Delta
	for i, one := range part {
		if one.changed {
			items[i] = api.BulkItem{ResponseID: one.id, Result: Skipped, Code: staleCode, Detail: "It was changed or added after the list was read."}
			continue
		}
		want.id, want.about = one.id, web.Judged{Revision: one.revision}
		r, more, err := s.decideTx(ctx, tx, o, want)
		f := fault.As(err)
		if err != nil && f == nil {
			return nil, err
		}
		items[i] = itemOf(ctx, one.id, r, want.Draft, f)
		if f == nil && len(more) == 0 {
			items[i].Result = Unchanged
		}
		deltas = append(deltas, more...)
	}
	if len(deltas) == 0 {
		return items, nil
	}
	return items, s.cfg.Surveys.Count(ctx, tx, o, deltas...)
}

func itemOf(ctx context.Context, id string, r *response.Row, d Draft, f *fault.Error) api.BulkItem {
	it := api.BulkItem{ResponseID: id, Result: Changed}
	if r != nil {
		it.Status, it.Revision = r.VStatus, r.Revision
	}
	switch {
	case f == nil:
	case f.Code == "STATE_TRANSITION_INVALID" && r.VStatus == d.Status && r.Verifier == web.CallerFrom(ctx).DID:
		it.Result = Unchanged
	case f.Code == staleCode:
		it.Result, it.Code, it.Detail = Skipped, f.Code, f.Message
	default:
		it.Result, it.Code, it.Detail = Refused, f.Code, f.Message
	}
	return it
}

// named looks responses up by their ids, each once. One that is not there is
// refused in its turn.
func (s *Service) named(ctx context.Context, o *survey.Open, list []Named) ([]candidate, error) {
	seen := map[string]bool{}
	var out []candidate
	for _, one := range list {
		c, err := s.candidate(ctx, o, one.ResponseID)
		if err != nil {
			return nil, err
		}
		c.revision = one.Revision
		if !seen[c.id] {
			seen[c.id] = true
			out = append(out, c)
		}
	}
	return out, nil
}

// candidate finds a response by its id or reference; its nid is 0 when there is
// none.
func (s *Service) candidate(ctx context.Context, o *survey.Open, id string) (candidate, error) {
	if nid, ok := privacy.RecordNID(id); ok {
		named, err := nameOf(ctx, s.db, o.NID, nid)
		if err != nil || named == "" {
			return candidate{id: id}, err
		}
		return candidate{nid: nid, id: named}, nil
	}
	nid, err := nidOf(ctx, s.db, o.Workspace, o.NID, id)
	return candidate{nid: nid, id: id}, err
}

// choose finds responses by a filter, oldest first, and those among them that
// are not as the list showed them. next is "" when all were looked at.
func (s *Service) choose(ctx context.Context, o *survey.Open, f *Filter) (out []candidate, next string, err error) {
	if out, next, err = s.pick(ctx, o, f); err != nil {
		return nil, "", err
	}
	held, err := s.cfg.Events.Range(ctx, o.Workspace)
	if err != nil {
		return nil, "", err
	}
	var c fault.Checks
	switch asOf := *f.AsOf; {
	case asOf < 0 || asOf > held.Newest:
		c.Add("/filter/asOf", "ahead", "The value must be page.asOf of a list of responses.")
	case asOf < held.Oldest-1:
		c.Add("/filter/asOf", "expired", "The server no longer knows what has changed since. Read the list again.")
	}
	if err := c.Err(invalidCode, "The decision is not valid."); err != nil {
		return nil, "", err
	}
	ids := make([]string, len(out))
	for i := range out {
		ids[i] = out[i].id
	}
	// A change up to now is in the log; a later one has another revision than was picked.
	changed, err := s.cfg.Events.Since(ctx, o.Workspace, *f.AsOf, response.ContentEvents(), ids)
	for i := range out {
		out[i].changed = changed[out[i].id]
	}
	return out, next, err
}

// pick is choose, without a look at what has changed.
func (s *Service) pick(ctx context.Context, o *survey.Open, f *Filter) (out []candidate, next string, err error) {
	limit, after, x := cmp.Or(f.Limit, maxBulk), int64(0), s.cfg.Responses.Sight(ctx, o)
	if f.After != "" {
		if after, err = nidOf(ctx, s.db, o.Workspace, o.NID, f.After); err != nil {
			return nil, "", err
		} else if after == 0 {
			return nil, "", fault.New(fault.NotFound, "RESPONSE_NOT_FOUND", "The survey has no response with this id to continue after.")
		}
	}
	for looked := 0; looked < maxLooked; looked += scanPage {
		page, err := inState(ctx, s.db, o.NID, f.Status, after)
		if err != nil {
			return nil, "", err
		}
		for _, c := range page {
			if len(out) == limit {
				return out, next, nil
			}
			after, next = c.nid, c.id
			c.collector = x.Person(c.collector) // the name that is shown
			if ok, err := s.fits(ctx, f, c); err != nil {
				return nil, "", err
			} else if ok {
				out = append(out, c)
			}
		}
		if len(page) < scanPage {
			return out, "", nil
		}
	}
	return out, next, nil
}

func (s *Service) fits(ctx context.Context, f *Filter, c candidate) (bool, error) {
	switch {
	case f.Flagged != nil && *f.Flagged != (c.flags > 0),
		f.Collector != "" && f.Collector != c.collector,
		f.Round != 0 && f.Round != c.round,
		f.Rule != "" && c.flags == 0:
		return false, nil
	case f.Rule == "":
		return true, nil
	}
	return hasFlag(ctx, s.db, c.nid, f.Rule)
}
