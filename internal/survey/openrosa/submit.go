package openrosa

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// shown is a survey and its form.
type shown struct {
	open *survey.Open
	form *Form
}

// submission is a device's submission, read as answers to a form.
type submission struct {
	shown
	in      *Instance
	raw     []byte
	at      *waiting
	files   map[string]string // hashes by name
	answers jsontext.Value
	missing []string // names of files that are not here
	log     Log
}

func (s *Service) serveSubmission(w http.ResponseWriter, r *http.Request) error {
	ctx := acting(r.Context())
	web.LeavePlace(r.Context())
	p, err := s.read(ctx, w, r)
	if err != nil {
		return err
	}
	sub, err := s.understand(ctx, p)
	if err != nil {
		return err
	}
	if len(sub.missing) > 0 {
		if err := s.wait(ctx, sub); err != nil {
			return err
		}
		return send(w, http.StatusAccepted, mediaXML, envelope(fmt.Sprintf("Received. %d files of this interview are missing: %s.", len(sub.missing), strings.Join(sub.missing, ", "))))
	}
	done, err := s.store(ctx, sub)
	if err != nil {
		return err
	}
	return send(w, http.StatusCreated, mediaXML, envelope(told(done)))
}

// understand reads a post as a submission to one of the caller's forms.
func (s *Service) understand(ctx context.Context, p *post) (*submission, error) {
	in, err := Parse(p.instance)
	if err != nil {
		return nil, err
	}
	o, err := s.mine(ctx, in.FormID)
	if err != nil {
		return nil, err
	}
	f, err := s.formOf(o)
	if err != nil {
		return nil, err
	}
	if in.Version != "" && in.Version != f.Version {
		return nil, fault.New(fault.Conflict, "FORM_VERSION_UNKNOWN", fmt.Sprintf("This interview was made with version %s of the form, but the survey asks version %s. Get the forms of this server again and repeat the interview, or show it to the manager of the survey.", in.Version, f.Version))
	}
	c := web.CallerFrom(ctx)
	sub := &submission{shown: shown{o, f}, in: in, raw: p.instance, files: p.files}
	sub.at = &waiting{ws: c.Workspace, sender: c.DID, instance: in.InstanceID, survey: o.SurveyID, project: o.Project, household: in.Household()}
	if err := s.check(ctx, sub); err != nil {
		return nil, err
	}
	if err := sub.answer(); err != nil || len(sub.missing) == 0 {
		return sub, err
	}
	came, err := filesOf(ctx, s.db, sub.at)
	if err != nil {
		return nil, err
	}
	for name, hash := range came {
		if sub.files[name] == "" {
			sub.files[name] = hash
		}
	}
	return sub, sub.answer()
}

// check looks at all but the answers. Faults: SUBMISSION_INVALID, NOT_COLLECTOR.
func (s *Service) check(ctx context.Context, sub *submission) error {
	var c fault.Checks
	if _, end := sub.in.Times(); end.IsZero() {
		c.Add("/hearth_meta_end", "required", "The submission does not say when the interview ended.")
	}
	c.Require(sub.at.household != "", "/hearth_household")
	if len(sub.in.InstanceID) > maxName {
		c.Add("/meta/instanceID", "too_long", "The value is too long.")
	}
	if err := c.Err("SUBMISSION_INVALID", "The submission cannot be accepted."); err != nil {
		return err
	}
	return s.cfg.Surveys.MayVisit(ctx, sub.open, sub.at.household)
}

// answer reads the answers with the files that are here.
func (sub *submission) answer() error {
	answers, named, err := sub.form.Answers(sub.in, func(name string) string { return sub.files[name] })
	if err != nil {
		return err
	}
	sub.answers, sub.missing = answers, slices.DeleteFunc(named, func(name string) bool { return sub.files[name] != "" })
	return nil
}

// wait keeps a submission until its files have arrived. One that would be refused
// is refused now, while the sender still gets the answer.
func (s *Service) wait(ctx context.Context, sub *submission) error {
	_, end := sub.in.Times()
	if r := sub.open.Form.Check(form.Input{Answers: sub.answers, Now: end, Partial: true}); !r.OK() {
		return fault.New(fault.Invalid, "RESPONSE_INVALID", "The response is not valid.").With(r.Wrong...)
	}
	full, err := isFull(ctx, s.db, sub.at)
	if err != nil {
		return err
	}
	if full {
		return fault.New(fault.Conflict, "TOO_MANY_SUBMISSIONS", fmt.Sprintf("%d interviews are already waiting for their files. Send these first.", maxWaiting))
	}
	nid, now := s.db.NewNID(), s.cfg.Now()
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		w := *sub.at
		if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), w.ws, w.household); err != nil {
			return err
		}
		if err := vault.CheckErased(ctx, tx, w.ws, w.household, "/hearth_household"); err != nil {
			return err
		}
		var err error
		if w.sealed, err = s.cfg.Vault.Seal(ctx, tx, w.ref(), w.bind(), sub.raw); err != nil {
			return err
		}
		for name, hash := range sub.files {
			if err := addFile(ctx, tx, &w, name, hash); err != nil {
				return err
			}
		}
		return w.keep(ctx, tx, nid, now)
	})
}

// response is a submission as POST /v1/responses:batch takes it.
func (sub *submission) response() (jsontext.Value, error) {
	start, end := sub.in.Times()
	out := map[string]any{
		"responseId": sub.in.InstanceID, "surveyId": sub.open.SurveyID, "householdId": sub.at.household, "timestamp": end.UTC().Format(time.RFC3339Nano),
		"responses": sub.answers, "metadata": map[string]string{"client": "odk", "formVersion": sub.in.Version},
	}
	if !start.IsZero() && !start.After(end) {
		out["startedAt"] = start.UTC().Format(time.RFC3339Nano)
	}
	// With the mode collect the door says it.
	if !slices.Contains(sub.open.Modes, survey.Collect) && slices.Contains(sub.open.Modes, "visit") {
		out["mode"] = "visit"
	}
	if d := sub.in.Device(); d != "" && len(d) <= maxName {
		out["deviceId"] = d
	}
	if e := sub.in.Entity(); e != nil {
		out["entity"] = api.EntityMark{ID: e.ID, BaseVersion: e.BaseVersion, TrunkVersion: e.TrunkVersion, BranchID: e.BranchID}
	}
	if sub.in.Deprecated != "" {
		out["supersedes"] = sub.in.Deprecated
	}
	if log := sub.in.Audit(); sub.files[log] != "" {
		out["attachments"] = []map[string]string{{"sha256": sub.files[log], "mediaType": "text/csv", "name": "audit.csv"}}
		sub.logged(out)
	}
	text, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return text, nil
}

// logged adds what the log of the interview says: how long questions were on the
// screen, which is less than the time between its begin and its end, and where.
func (sub *submission) logged(out map[string]any) {
	if s := sub.log.Active.Seconds(); s > 0 && s <= maxSeconds {
		out["durationSec"] = s
	}
	if p := sub.log.Place; p != nil {
		at := map[string]float64{"lat": p.Lat, "lon": p.Lon}
		if p.Accuracy < Unsure {
			at["accuracy"] = p.Accuracy
		}
		out["location"] = at
	}
}

// readLog reads the log of the interview, where it is here.
func (s *Service) readLog(ctx context.Context, sub *submission) error {
	hash := sub.files[sub.in.Audit()]
	if hash == "" {
		return nil
	}
	f, err := media.Find(ctx, s.db, sub.at.ws, hash)
	if err != nil || f.Bytes > maxLog {
		return err
	}
	raw := make([]byte, f.Bytes)
	if _, err := s.cfg.Media.Open(ctx, f).ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read log of an interview: %w", err)
	}
	sub.log = ReadLog(raw)
	return nil
}

// store hands a submission on, and forgets that it waited.
func (s *Service) store(ctx context.Context, sub *submission) (*api.BatchItem, error) {
	if err := s.readLog(ctx, sub); err != nil {
		return nil, err
	}
	text, err := sub.response()
	if err != nil {
		return nil, err
	}
	done, err := s.cfg.Take(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := sub.refusal(&done); err != nil && done.Status != "conflict" {
		return nil, err
	}
	if waits, err := isWaiting(ctx, s.db, sub.at); err != nil {
		return nil, err
	} else if waits {
		if err := s.db.InTx(ctx, func(tx *db.Tx) error { return sub.at.settle(ctx, tx, sub.files) }); err != nil {
			return nil, err
		}
	}
	return &done, sub.refusal(&done)
}

// What collectors are told about an interview that clashes with a stored one.
var clashes = map[string]string{
	response.ConflictCode:          "This interview was already stored, with other answers. Yours is kept too, and the manager of the survey decides which counts.",
	"DUPLICATE_HOUSEHOLD_RESPONSE": "This household has already been interviewed. Your interview is kept too, and the manager of the survey decides which counts.",
}

// refusal is the fault of a response that was not stored, worded for a collector;
// nil for one that is stored, or that waits for a decision.
func (sub *submission) refusal(done *api.BatchItem) error {
	f := &fault.Error{Kind: fault.Invalid, Code: done.Code, Message: done.Detail} // the code is the batch's own
	switch done.Status {
	case "created", "replayed", "partial", "held":
		return nil
	case "conflict":
		f.Kind = fault.Conflict
		if text := clashes[done.Code]; text != "" {
			f.Message = text
			return f
		}
	}
	if done.Code == response.ConflictCode { // of another survey, which is not this one's to decide
		f.Kind = fault.Conflict
	}
	for _, one := range done.Errors {
		one.Pointer = sub.asked(one.Pointer)
		f = f.With(fault.Field(one))
	}
	return f
}

// asked is the text of the question that a pointer leads to, or else the pointer.
func (sub *submission) asked(pointer string) string {
	at := strings.Split(pointer, "/")
	if len(at) < 4 || at[1] != "responses" {
		return pointer
	}
	t := sub.open.Form.Template()
	for i := range t.Sections {
		s := &t.Sections[i]
		if s.ID != at[2] {
			continue
		}
		for j := range s.Questions {
			if label := s.Questions[j].Label.In(t.Language(), t.Language()); s.Questions[j].ID == at[3] && label != "" {
				return strings.TrimRight(label, ":?. ")
			}
		}
	}
	return pointer
}

// told is what a device shows about a response that has arrived.
func told(done *api.BatchItem) string {
	switch {
	case done.Status == "held":
		return "Received. " + done.Detail
	case done.Status == "partial" && len(done.Missing) > 0:
		return fmt.Sprintf("Stored. %d required answers are missing.", len(done.Missing))
	}
	return "Stored."
}

// Finish completes submissions that have waited for their files since before,
// without those that never arrived: the interview counts, with answers missing. It
// returns how many there were.
func (s *Service) Finish(ctx context.Context, before time.Time, limit int) (int, error) {
	all, err := oldest(ctx, s.db, before, min(limit, 20))
	if err != nil {
		return 0, err
	}
	for _, w := range all {
		if err := s.finish(ctx, w); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

func (s *Service) finish(ctx context.Context, w *waiting) error {
	ctx = acting(web.WithCaller(ctx, web.Caller{Workspace: w.ws, DID: w.sender, Later: true}))
	forget := func() error { return s.db.InTx(ctx, func(tx *db.Tx) error { return w.done(ctx, tx) }) }
	if len(w.sealed) == 0 {
		return forget()
	}
	if there, err := s.cfg.Stored(ctx, w.instance); err != nil {
		return err
	} else if there {
		return forget()
	}
	raw, err := s.cfg.Vault.Open(ctx, s.db, w.ref(), w.bind(), w.sealed)
	if errors.Is(err, vault.ErrDestroyed) {
		return forget()
	} else if err != nil {
		return err
	}
	sub, err := s.understand(ctx, &post{instance: raw, files: map[string]string{}})
	if err == nil {
		_, err = s.store(ctx, sub) // stores or sets it aside, and settles it
	}
	switch {
	case fault.CodeOf(err) == "FORM_NOT_FOUND" && fault.KindOf(err) == fault.NotFound:
	case err != nil && fault.As(err) == nil, fault.KindOf(err) == fault.Unavailable:
		return err
	case err == nil, fault.KindOf(err) == fault.Conflict:
		return forget()
	}
	// Nobody receives a refusal. The submission stays, and is tried again.
	_, err = s.db.Exec(ctx, laterWaiting, w.ws, w.sender, w.instance, s.cfg.Now().UnixMilli())
	return db.Wrap("put submission off", err)
}

// Erase removes the submissions of interviews with a person, and by one. It is an
// erase.Eraser.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, person string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, s.db.Dialect(), ws, person); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, deleteTheirs, ws, person); err != nil {
		return 0, fmt.Errorf("erase files of submissions: %w", err)
	}
	n, err := tx.Exec(ctx, deletePerson, ws, person)
	return n, db.Wrap("erase submissions", err)
}
