package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// errMoved means that somebody else has changed a campaign since it was read.
var errMoved = errors.New("survey: changed meanwhile")

// maxTries is how often a change that names no revision starts over when
// another change was first.
const maxTries = 8

// again repeats f until no other change interferes.
func again[T any](f func() (T, error)) (T, error) {
	var out T
	err := errMoved
	for range maxTries {
		if out, err = f(); !errors.Is(err, errMoved) {
			return out, err
		}
	}
	return out, fault.New(fault.Unavailable, "STORE_BUSY", "This survey is being changed by many at once. Try again shortly.").Wrap(err)
}

// whileRunning are the members that may still change once a campaign runs;
// template and sampling are settled then, and the start of the window.
var whileRunning = []string{
	"name", "description", "metadata", "collectors", "strictCollectors", "training", "instructions", "languages", "window", "recurrence", "assignments", "entityLists",
}

// changeable reports whether a member may change in a status.
func changeable(status Status, member string) bool {
	switch status {
	case StatusDraft, StatusReady:
		return member != "surveyId"
	case StatusActive, StatusPaused:
		return slices.Contains(whileRunning, member)
	case StatusClosed: // the end of the window, so that it can be opened again
		return slices.Contains([]string{"name", "description", "metadata", "window"}, member)
	}
	return false
}

// checkChange refuses changes of settled members. The fault is SURVEY_LOCKED
// with every member that may not change.
func checkChange(status Status, old, new Draft) error {
	names, err := Changed(old, new)
	if err != nil {
		return err
	}
	var locked []fault.Field
	for _, name := range names {
		if !changeable(status, name) {
			locked = append(locked, fault.Field{Pointer: "/" + name, Code: "locked", Detail: "This member cannot change while the survey is " + string(status) + "."})
		}
	}
	if len(locked) == 0 {
		return nil
	}
	return lockedFault(locked...)
}

func lockedFault(fields ...fault.Field) error {
	return fault.New(fault.Conflict, "SURVEY_LOCKED", "Part of the survey can no longer change in its present status.").With(fields...)
}

// Update applies a merge patch, or the JSON patch that the request has instead.
// ifMatch names the revision it was made from. Faults: SURVEY_NOT_FOUND,
// SURVEY_CONFIGURATION_INVALID, SURVEY_LOCKED, and those of web.CheckMatch,
// web.MergePatch and web.JSONPatch.
func (s *Service) Update(ctx context.Context, id, ifMatch, reason string, patch []byte) (web.Reply[*Survey], error) {
	return s.edit(ctx, id, ifMatch, change{"updated", reason}, func(d Draft) (Draft, error) {
		doc, err := json.Marshal(d)
		if err != nil {
			return d, fmt.Errorf("encode survey: %w", err)
		}
		if doc, err = applied(ctx, doc, patch); err != nil {
			return d, err
		}
		var out Draft
		if err := web.DecodeStrict(doc, (*patched)(&out), false); err != nil {
			return out, err
		}
		return out, s.follow(ctx, d, &out)
	})
}

// applied returns a document with the patch of a request. A merge patch must be an
// object.
func applied(ctx context.Context, doc, patch []byte) ([]byte, error) {
	if web.IsJSONPatch(ctx) {
		return web.JSONPatch(doc, patch)
	}
	if jsontext.Value(patch).Kind() != '{' {
		return nil, fault.New(fault.Invalid, "WRONG_TYPE", "The body must be an object.")
	}
	return web.MergePatch(doc, patch)
}

// follow updates the values that were taken from the template as defaults, all
// its sections and languages, to those of the template or version that a patch
// names.
func (s *Service) follow(ctx context.Context, old Draft, d *Draft) error {
	if old.TemplateID == d.TemplateID && old.TemplateVersion == d.TemplateVersion {
		return nil
	}
	f, _, err := s.cfg.Templates.Pinned(ctx, s.db, web.CallerFrom(ctx).Workspace, template.Ref{ID: old.TemplateID, Version: old.TemplateVersion})
	if err != nil {
		return err
	}
	if all := f.Sections(); slices.Equal(old.Sections, all) && slices.Equal(d.Sections, all) {
		d.Sections = nil
	}
	if all := LanguagesOf(f.Template()); slices.Equal(old.Languages, all) && slices.Equal(d.Languages, all) {
		d.Languages = nil
	}
	return nil
}

// patched is a draft whose Validate is not called while it is decoded: prepare
// says all at once.
type patched Draft

// edit makes a new revision of a campaign.
func (s *Service) edit(ctx context.Context, id, ifMatch string, ch change, fn func(Draft) (Draft, error)) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	if err := CheckReason("query/reason", ch.reason, false); err != nil {
		return none, err
	}
	return again(func() (web.Reply[*Survey], error) {
		r, old, err := read(ctx, s.db, id)
		if err != nil {
			return none, err
		}
		if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
			return none, err
		}
		before := old.draft()
		d, err := fn(before)
		if err != nil {
			return none, err
		}
		if err := checkChange(old.Status, before, d); err != nil {
			return none, err
		}
		if err := checkDrawn(old, before, d); err != nil {
			return none, err
		}
		v, err := s.revise(ctx, r, old, d)
		if err != nil {
			return none, err
		}
		if err := checkDutyStrata(ctx, s.db, r.NID, v); err != nil {
			return none, err
		}
		return s.store(ctx, r, v, ch, "survey.updated")
	})
}

// checkDrawn keeps the sampling of a survey whose list was drawn: it is part of
// the proof. The fault is SURVEY_LOCKED.
func checkDrawn(old *Survey, before, d Draft) error {
	if old.Sampling == nil || old.Sampling.Draw == nil {
		return nil
	}
	names, err := Changed(before, d)
	if err != nil || !slices.Contains(names, "sampling") {
		return err
	}
	return lockedFault(fault.Field{Pointer: "/sampling", Code: "locked", Detail: "The list of the survey was drawn by this sampling."})
}

// revise is the record after old with the configuration d.
func (s *Service) revise(ctx context.Context, r *Row, old *Survey, d Draft) (*Survey, error) {
	d.SurveyID = r.SurveyID
	var v *Survey
	var err error
	if old.Status == StatusDraft || old.Status == StatusReady {
		v, err = s.prepare(ctx, r.Workspace, d, old)
	} else {
		v, err = s.amend(ctx, r.Workspace, old, d)
	}
	if err != nil {
		return nil, err
	}
	v.Round, v.Rounds, v.Status, v.StatusReason = old.Round, old.Rounds, old.Status, old.StatusReason
	if n := len(v.Rounds) - 1; !SameWindow(old.Window, v.Window) && v.Rounds[n].Window != nil {
		v.Rounds = slices.Clone(v.Rounds)
		v.Rounds[n].Window = nil // the last statement applies, to the open round too
	}
	if old.Sampling != nil && v.Sampling != nil {
		v.Sampling.Draw = old.Sampling.Draw
	}
	v.Created, v.CreatedBy, v.Activated, v.Closed = old.Created, old.CreatedBy, old.Activated, old.Closed
	return v, nil
}

// amend is prepare for a campaign that runs: its pinned template stays, even if
// it was retired meanwhile.
func (s *Service) amend(ctx context.Context, ws string, old *Survey, d Draft) (*Survey, error) {
	var c fault.Checks
	d.Check(&c)
	checkDuties(&c, &d.Content)
	if !slices.Equal(d.Languages, old.Languages) {
		f, err := s.pinned(ctx, s.db, ws, old)
		if err != nil {
			return nil, err
		}
		CheckLanguages(&c, d.Languages, f.Template())
	}
	if err := Invalid(&c); err != nil {
		return nil, err
	}
	v := *old
	v.Content = d.Content
	v.Sections, v.Sampling = old.Sections, old.Sampling
	if len(v.Languages) == 0 {
		v.Languages = old.Languages
	}
	return &v, nil
}

// store stores v as the revision after r. errMoved: another change was first.
func (s *Service) store(ctx context.Context, r *Row, v *Survey, ch change, kind string) (web.Reply[*Survey], error) {
	var reply web.Reply[*Survey]
	body, err := s.next(ctx, r, v)
	if err != nil {
		return reply, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		reply, err = s.storeTx(ctx, tx, r, v, step{change: ch, event: kind, body: body})
		return err
	})
	return reply, err
}

// next gives a record its revision and renders it.
func (s *Service) next(ctx context.Context, r *Row, v *Survey) ([]byte, error) {
	v.Revision, v.Updated, v.UpdatedBy = r.Revision+1, s.now(), web.CallerFrom(ctx).DID
	return render(v)
}

// step is a change that is ready to be stored.
type step struct {
	change
	event string
	body  []byte
	check func(tx *db.Tx) error // what must hold; the campaign is locked by then
}

func (s *Service) storeTx(ctx context.Context, tx *db.Tx, r *Row, v *Survey, st step) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	if v.Status != r.Status {
		if err := vault.CloseDoor(ctx, tx, s.db.Dialect(), StateDoor(r.NID)); err != nil {
			return none, err
		}
	}
	ok, err := update(ctx, tx, r, v, st)
	if err != nil {
		return none, err
	}
	if !ok {
		return none, errMoved
	}
	if st.check != nil {
		if err := st.check(tx); err != nil {
			return none, err
		}
	}
	shown, err := show(ctx, tx, r.NID, v, st.body)
	if err != nil {
		return none, err
	}
	return web.Reply[*Survey]{Value: v, Raw: shown, ETag: web.ETag(v.Revision)}, s.record(ctx, tx, r.Workspace, st.event, v)
}

// Delete removes a campaign that has never been active, with its households.
// Faults: SURVEY_NOT_FOUND, STATE_TRANSITION_INVALID, and those of
// web.CheckMatch.
func (s *Service) Delete(ctx context.Context, id, ifMatch string) (*Survey, error) {
	r, v, err := read(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
		return nil, err
	}
	if v.Status != StatusDraft && v.Status != StatusReady {
		return nil, fault.New(fault.Conflict, transitionCode, "Only a survey that was never active can be deleted. Close and archive it.").With(wrongStatus(v.Status))
	}
	err = s.takeOut(ctx, r, func(tx *db.Tx) error { return s.record(ctx, tx, r.Workspace, "survey.deleted", v) })
	if err != nil {
		return nil, err
	}
	return v, nil
}

// takeOut removes a campaign with its households, some at a time; told is called in
// the transaction that removes the campaign itself.
func (s *Service) takeOut(ctx context.Context, r *Row, told func(*db.Tx) error) error {
	for done := false; !done; {
		err := s.db.InTx(ctx, func(tx *db.Tx) error {
			_, revision, err := touch(ctx, tx, r.NID)
			if err != nil {
				return err
			}
			if revision != r.Revision {
				return web.Overtaken()
			}
			n, err := removeHouseholds(ctx, tx, r.NID)
			if done = err == nil && n == 0; !done {
				return err
			}
			if err := remove(ctx, tx, r); err != nil {
				return err
			}
			return told(tx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a campaign in any state, with no event and as if it had never
// been made. Its responses and the findings of checks must have been removed
// before. The fault is SURVEY_NOT_FOUND.
func (s *Service) Remove(ctx context.Context, id string) error {
	r, _, err := read(ctx, s.db, id)
	if err != nil {
		return err
	}
	return s.takeOut(ctx, r, func(tx *db.Tx) error {
		s.changed(tx, r.Workspace)
		return nil
	})
}

// draft is the campaign as its maker would send it now.
func (s *Survey) draft() Draft {
	d := Draft{SurveyID: s.SurveyID, Type: s.Type, ProjectID: s.ProjectID, Content: s.Content} // the stage follows
	d.Sampling = s.Sampling.Draft()
	if d.Template != nil {
		d.Sections = nil // they follow from the flags
	}
	return d
}
