package sampling

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of frames.
const (
	maxUnits   = 5_000_000 // of one
	pieceUnits = 5_000     // of a piece, which one transaction stores
	inRequest  = 20_000    // units that a request draws or checks itself
	maxBad     = 20        // lines that a refusal names
	maxCSV     = 6 << 20   // bytes of a file inside JSON
	maxGroups  = 10_000    // clusters of a frame
)

// FrameKind is the kind of jobs that read a registry, DrawKind of those that draw.
const (
	FrameKind = "sampling.frame"
	DrawKind  = "sampling.draw"
)

const badFrame = "FRAME_INVALID"

// PutFrame freezes the households that there are to choose from: those of a file
// at once, those of the registry in a job. Faults: DESIGN_NOT_FOUND,
// FRAME_INVALID with the lines that are wrong, INSUFFICIENT_POPULATION,
// STRATA_CONFLICT, SCOPE_MISSING.
func (s *frames) PutFrame(ctx context.Context, id string, d api.SampleFrameDraft) (web.Reply[*api.SampleFrame], error) {
	var none web.Reply[*api.SampleFrame]
	r, err := find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	if (d.CSV == "") == (d.Registry == nil) {
		return none, fault.New(fault.Invalid, badFrame, "Send either csv or registry.").With(fault.Field{Pointer: "/csv", Code: "one_of", Detail: "Send either csv or registry."})
	}
	if err := mayName(ctx, r.Units); err != nil {
		return none, err
	}
	f := &frameRow{nid: s.db.NewNID(), design: r.nid}
	f.SampleFrame = api.SampleFrame{FrameID: name("frm_", f.nid), DesignID: r.DesignID, State: "building", Units: r.Units, By: web.CallerFrom(ctx).DID}
	if d.Registry != nil {
		return s.enqueueFrame(ctx, f, *d.Registry)
	}
	list, err := readFile(strings.NewReader(d.CSV))
	if err != nil {
		return none, err
	}
	sum := sha256.Sum256([]byte(d.CSV))
	f.FileHash = hex.EncodeToString(sum[:])
	if err := s.lay(ctx, r, f, list, nil); err != nil {
		return none, err
	}
	reply, err := once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleFrame], error) {
		return web.Reply[*api.SampleFrame]{Value: &f.SampleFrame, Status: http.StatusCreated, Location: r.Links.Frame}, s.freeze(ctx, tx, r, f)
	})
	if err != nil || reply.Replayed { // another frame stands, or none
		_, gone := s.db.Exec(context.WithoutCancel(ctx), removePieces, f.nid)
		err = errors.Join(err, db.Wrap("remove pieces", gone))
	}
	return reply, err
}

// mayName requires that a caller who freezes a frame under pseudonyms may know
// them: the caller chooses the households, so the result would reveal which
// household has which pseudonym. The fault is SCOPE_MISSING.
func mayName(ctx context.Context, units string) error {
	if units == byDID || web.CallerFrom(ctx).May("responses:pii") {
		return nil
	}
	return fault.New(fault.Forbidden, "SCOPE_MISSING", "This frame names households by pseudonyms, and a person who chooses the households learns them. Freezing it needs the scope responses:pii.")
}

// readFile reads the households of a file. The fault is FRAME_INVALID.
func readFile(in io.Reader) ([]Row, error) {
	var list []Row
	var bad []fault.Field
	err := ReadCSV(in, func(line int, row Row) error {
		if what := wrongRow(row); what != "" {
			bad = append(bad, fault.Field{Pointer: "/csv", Code: "invalid", Detail: fmt.Sprintf("Line %d: %s", line, what)})
			if len(bad) >= maxBad {
				return errRow{line, "There are more."}
			}
		}
		if len(list) >= maxUnits {
			return errRow{line, fmt.Sprintf("A frame has at most %d households.", maxUnits)}
		}
		list = append(list, Row{strings.Clone(row.Household), strings.Clone(row.Stratum), strings.Clone(row.Cluster)})
		return nil
	})
	var at errRow
	if errors.As(err, &at) {
		bad = append(bad, fault.Field{Pointer: "/csv", Code: "invalid", Detail: fmt.Sprintf("Line %d: %s", at.line, at.what)})
	} else if err != nil {
		return nil, err
	}
	if len(bad) > 0 {
		return nil, fault.New(fault.Invalid, badFrame, "The file is not a list of households.").With(bad...)
	}
	return list, nil
}

func wrongRow(r Row) string {
	switch {
	case r.Household == "":
		return "There is no household."
	case !plainCell(r.Household) || !isDID(r.Household):
		return "The household must be a DID of at most 200 characters."
	case !plainCell(r.Stratum), !plainCell(r.Cluster):
		return "A stratum or cluster has at most 200 characters, and no comma, quote or control character."
	}
	return ""
}

func isDID(text string) bool {
	_, err := did.Parse(text)
	return err == nil
}

// frameJob is what a job is asked for.
type frameJob struct {
	Design string          `json:"designId"`
	Frame  int64           `json:"frame"`
	Query  api.SampleQuery `json:"registry"`
}

func (s *frames) enqueueFrame(ctx context.Context, f *frameRow, q api.SampleQuery) (web.Reply[*api.SampleFrame], error) {
	var none web.Reply[*api.SampleFrame]
	if !web.CallerFrom(ctx).May("entities:read") {
		return none, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope entities:read is needed too.")
	}
	if err := s.cfg.CheckQuery(ctx, q); err != nil {
		return none, registryFault(err)
	}
	f.Registry = &q
	body, err := json.Marshal(f.SampleFrame)
	if err != nil {
		return none, fmt.Errorf("encode frame: %w", err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleFrame], error) {
		if _, err := tx.Exec(ctx, insertFrame, f.nid, f.design, f.State, "", string(body)); err != nil {
			return none, fmt.Errorf("insert frame: %w", err)
		}
		j, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: FrameKind, Payload: frameJob{f.DesignID, f.nid, q}, About: linksOf(f.DesignID).Frame})
		if err != nil {
			return none, err
		}
		return web.Reply[*api.SampleFrame]{Value: &f.SampleFrame, Status: http.StatusAccepted, Location: job.Path(j)}, nil
	})
}

// registryFault points to the members of the body that a query was made of.
func registryFault(err error) error {
	bad := fault.As(err)
	if bad == nil {
		return err
	}
	out := *bad
	out.Fields = slices.Clone(bad.Fields)
	for i := range out.Fields {
		if name, ok := strings.CutPrefix(out.Fields[i].Pointer, "query/"); ok {
			out.Fields[i].Pointer = "/registry/" + name
		}
	}
	return &out
}

// runFrame reads the registry, all at one moment.
func (s *frames) runFrame(ctx context.Context, j *job.Run) error {
	var in frameJob
	if err := j.Decode(&in); err != nil {
		return err
	}
	return s.freezeAs(ctx, j, in.Design, in.Frame, func(r *designRow, f *frameRow) (list []Row, err error) {
		f.Revision, err = s.cfg.Registry(ctx, r.project, in.Query, func(row Row) error {
			if len(list) >= maxUnits {
				return fault.New(fault.Invalid, badFrame, fmt.Sprintf("A frame has at most %d households.", maxUnits))
			}
			if what := wrongRow(row); what != "" {
				return fault.New(fault.Invalid, badFrame, "The registry has a household that cannot be in a frame: "+row.Household+". "+what)
			}
			list = append(list, row)
			if len(list)%1000 == 0 {
				j.Progress(int64(len(list)), 0, "reading the registry")
			}
			return nil
		})
		return list, err
	})
}

// freezeAs is the job of a frame: it reads the households and freezes them. The
// frame holds the text of a refusal. When resumed it starts over, unless the frame
// is frozen.
func (s *frames) freezeAs(ctx context.Context, j *job.Run, design string, frame int64, read func(*designRow, *frameRow) ([]Row, error)) error {
	r, err := find(ctx, s.db, design)
	if err != nil {
		return permanent(err)
	}
	f, err := findFrame(ctx, s.db, r.nid, name("frm_", frame))
	if err != nil {
		return permanent(err)
	}
	if f.State == "frozen" {
		j.SetResult(f.SampleFrame)
		return nil
	}
	list, err := read(r, f)
	if err == nil {
		err = s.lay(ctx, r, f, list, j)
	}
	if err == nil {
		err = s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := j.Hold(ctx, tx); err != nil {
				return err
			}
			return s.freeze(ctx, tx, r, f)
		})
	}
	if fault.CodeOf(err) != "" {
		f.State, f.Warnings = "failed", []string{err.Error()}
		return errors.Join(permanent(err), s.saveFrame(ctx, f))
	}
	if err == nil {
		j.SetResult(f.SampleFrame)
	}
	return err
}

// permanent ends a job whose refusal no repetition changes.
func permanent(err error) error {
	if fault.CodeOf(err) != "" {
		return job.Permanent(err)
	}
	return err
}

func (s *frames) saveFrame(ctx context.Context, f *frameRow) error {
	body, err := json.Marshal(f.SampleFrame)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	_, err = s.db.Exec(ctx, updateFrame, f.nid, f.State, f.Hash, string(body))
	return db.Wrap("store frame", err)
}

// lay stores the pieces of a frame, and fills in what follows from them.
func (s *frames) lay(ctx context.Context, r *designRow, f *frameRow, list []Row, j *job.Run) error {
	homes, err := s.named(ctx, r, list)
	if err != nil {
		return err
	}
	if err := count(r, f, homes); err != nil {
		return err
	}
	plan, p, err := PlanOf(&r.Design, &f.SampleFrame)
	if err != nil {
		return err
	}
	f.Plan, f.Warnings = plan, append(unused(&r.SampleDesignDraft, list), short(&r.SampleDesignDraft, p, plan.Strata)...)
	sum := newHasher()
	for i := 0; i*pieceUnits < len(homes); i++ {
		units, ids := homesText(homes[i*pieceUnits : min(len(homes), (i+1)*pieceUnits)])
		sum.add(units)
		err := s.db.InTx(ctx, func(tx *db.Tx) error {
			if j != nil {
				if err := j.Hold(ctx, tx); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, insertPiece, f.nid, i, units, ids)
			return db.Wrap("store frame", err)
		})
		if err != nil {
			return err
		}
		if j != nil {
			j.Progress(int64(min(len(homes), (i+1)*pieceUnits)), int64(len(homes)), "freezing")
		}
	}
	f.State, f.Hash, f.Frozen = "frozen", sum.String(), s.now()
	return nil
}

// freeze stores a frame whose pieces are stored.
func (s *frames) freeze(ctx context.Context, tx *db.Tx, r *designRow, f *frameRow) error {
	body, err := json.Marshal(f.SampleFrame)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	n, err := tx.Exec(ctx, updateFrame, f.nid, f.State, f.Hash, string(body))
	if err == nil && n == 0 {
		_, err = tx.Exec(ctx, insertFrame, f.nid, f.design, f.State, f.Hash, string(body))
	}
	if err != nil {
		return fmt.Errorf("store frame: %w", err)
	}
	return s.record(ctx, tx, "sampling.framed", &r.Design, map[string]any{"frameId": f.FrameID, "frameHash": f.Hash, "population": f.Population, "registryRevision": f.Revision})
}

// named gives households the names the draw knows them by, sorted by these.
// Strata and clusters that the design does not have are left out.
func (s *frames) named(ctx context.Context, r *designRow, list []Row) ([]home, error) {
	if len(list) == 0 {
		return nil, fault.New(fault.Unprocessable, tooFewCode, "The frame is empty: there are no households to draw. The seed was not used up.")
	}
	names := s.cfg.Vault.Pseudonyms(web.CallerFrom(ctx).Workspace, r.project)
	out := make([]home, len(list))
	for i, row := range list {
		one := home{household: row.Household}
		one.Unit.Unit = row.Household
		if r.Units != byDID {
			one.Unit.Unit = names.Household(row.Household)
		}
		if Stratified(&r.SampleDesignDraft) {
			one.Stratum = row.Stratum
		}
		if r.Clusters != nil {
			one.Cluster = row.Cluster
		}
		out[i] = one
	}
	slices.SortFunc(out, func(a, b home) int { return cmp.Compare(a.Unit.Unit, b.Unit.Unit) })
	for i := 1; i < len(out); i++ {
		if out[i].Unit.Unit == out[i-1].Unit.Unit {
			return nil, fault.New(fault.Invalid, badFrame, "A household is in the frame twice: "+out[i].household+".").
				With(fault.Field{Pointer: "/csv", Code: "duplicate", Detail: "Each household may be in a frame only once."})
		}
	}
	return out, nil
}

// unused says which columns of a frame the design makes no use of.
func unused(d *api.SampleDesignDraft, list []Row) (out []string) {
	for _, c := range []struct {
		name, member string
		used         bool
		cell         func(Row) string
	}{
		{"stratum", "stratification", Stratified(d), func(r Row) string { return r.Stratum }},
		{"cluster", "clusters", d.Clusters != nil, func(r Row) string { return r.Cluster }},
	} {
		if !c.used && slices.ContainsFunc(list, func(r Row) bool { return c.cell(r) != "" }) {
			out = append(out, fmt.Sprintf("the frame gives the %s of households, but the design has no %s: it is left out of the frame, and the draw ignores it", c.name, c.member))
		}
	}
	return out
}

// count fills in how many households and clusters each stratum has. The faults
// are FRAME_INVALID and STRATA_CONFLICT.
func count(r *designRow, f *frameRow, homes []home) error {
	strata, clusters := map[string]*api.SampleFrameCount{}, map[string]string{}
	f.Strata = nil
	names := []string{""}
	if Stratified(&r.SampleDesignDraft) {
		names = nil
		for _, h := range r.Stratification.Strata {
			names = append(names, h.Name)
		}
	}
	counts := make([]api.SampleFrameCount, len(names))
	for i, n := range names {
		counts[i].Name = n
		strata[n] = &counts[i]
	}
	sizes := map[string]int64{}
	for _, h := range homes {
		in := strata[h.Stratum]
		if in == nil {
			return fault.New(fault.Conflict, conflictCode, fmt.Sprintf("The design has no stratum %q, in which household %s is.", h.Stratum, h.household))
		}
		in.Population++
		if r.Clusters == nil {
			continue
		}
		was, known := clusters[h.Cluster]
		switch {
		case h.Cluster == "":
			return fault.New(fault.Invalid, badFrame, "Household "+h.household+" is in no cluster, and the design draws clusters first.")
		case known && was != h.Stratum:
			return fault.New(fault.Invalid, badFrame, fmt.Sprintf("Cluster %q is in two strata.", h.Cluster))
		case !known:
			clusters[h.Cluster] = h.Stratum
			in.Clusters++
		}
		sizes[h.Cluster]++
		if n := sizes[h.Cluster]; in.Largest == nil || n > in.Largest.Population {
			in.Largest = &api.SampleFrameCluster{Name: h.Cluster, Population: n}
		}
	}
	if len(clusters) > maxGroups {
		return fault.New(fault.Invalid, badFrame, fmt.Sprintf("A frame has at most %d clusters.", maxGroups))
	}
	f.Population, f.Strata, f.Clusters = int64(len(homes)), counts, len(clusters)
	return nil
}

// Frame reads a frame of a design; the newest when frame is "". Faults:
// DESIGN_NOT_FOUND, FRAME_NOT_FOUND.
func (s *frames) Frame(ctx context.Context, id, frame string) (*api.SampleFrame, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	f, err := findFrame(ctx, s.db, r.nid, frame)
	if err != nil {
		return nil, err
	}
	if f.State == "frozen" {
		if f.Plan, _, err = PlanOf(&r.Design, &f.SampleFrame); fault.CodeOf(err) != "" {
			f.Warnings = append(f.Warnings, err.Error())
		} else if err != nil {
			return nil, err
		}
	}
	return &f.SampleFrame, nil
}

// mayProve restricts frames and seeds to callers who check or make draws: with
// both anybody knows which household comes next. Frames that name households by
// DID are for callers who may know households. The fault is SCOPE_MISSING.
func mayProve(ctx context.Context, units string) error {
	c := web.CallerFrom(ctx)
	if !c.May("sampling:write") && !c.May("sampling:witness") && !c.May("audit:read") {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "Frames, seeds and replacements are only for keys with one of the scopes sampling:write, sampling:witness and audit:read: anybody with both frame and seed knows which household comes next.")
	}
	if units == byDID && !c.May("sampling:write") && !c.May("responses:pii") {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "This frame names households by their DIDs. Reading it needs the scope responses:pii or sampling:write. Frames of designs with units pseudonym have no DIDs.")
	}
	return nil
}
