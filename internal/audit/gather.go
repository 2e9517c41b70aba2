package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// claimLine is a claim in a bundle.
type claimLine struct {
	ID          string           `json:"id"`
	CID         string           `json:"cid,omitzero"` // where its document is
	Kind        string           `json:"kind"`
	Subject     string           `json:"subject"`
	Claimant    string           `json:"claimant"`
	PeriodStart string           `json:"periodStart,omitzero"`
	PeriodEnd   string           `json:"periodEnd,omitzero"`
	Amount      *api.ClaimAmount `json:"amount,omitzero"`
	Approved    *api.ClaimAmount `json:"approvedAmount,omitzero"`
	Status      string           `json:"status"`
	Submitted   time.Time        `json:"submitted"`
	Evidence    []string         `json:"evidence,omitzero"` // hashes, or ofText
	Document    *api.ClaimBody   `json:"document,omitzero"` // whole, where it says nothing of a person
}

// evaluation is one of a claim.
type evaluation struct {
	Claim string `json:"claim"`
	api.ClaimEvaluation
	Withheld []string `json:"withheld,omitzero"` // facts in free text, and people whom the rubric asks for
}

// rules are the claim types of a version of a protocol.
type rules struct {
	Protocol   string                    `json:"protocol"`
	Version    string                    `json:"version"`
	ClaimTypes map[string]jsontext.Value `json:"claimTypes"`
}

// issued is a credential with its state.
type issued struct {
	ID       string         `json:"id"`
	Claim    string         `json:"claim"`
	Issuer   string         `json:"oracle"`
	Status   string         `json:"status"`
	Document jsontext.Value `json:"verifiableCredential"`
}

// issuer is an oracle with its keys.
type issuer struct {
	Oracle string          `json:"oracle"`
	Keys   []api.IssuerKey `json:"keys"`
}

// calculation is one that a claim rests on, without words: see withoutWords.
type calculation struct {
	Claim     string            `json:"claim"`
	Asked     api.EmissionDraft `json:"asked"`
	TraceHash string            `json:"traceHash"`
}

// revision is a state of a record, by its hash.
type revision struct {
	Of       string    `json:"of"`
	Revision int64     `json:"revision"`
	At       time.Time `json:"at,omitzero"`
	Hash     string    `json:"hash"`
}

// gatherer reads a project through the API, as an auditor.
type gatherer struct {
	w         *writer
	project   string
	names     map[string]string
	rules     map[string]*rules
	issuers   []string
	lists     []string
	revisions []revision
	texts     int // pieces of evidence that are text
	uncounted int // calculations that were left out

	// The API, called as the auditor, and what no route provides.
	tell    func(step string) error
	fetch   func(path string) (*http.Response, error)
	named   func(id string) (string, error)
	figures func(survey string) ([]byte, error)
	keys    func(oracle string) ([]api.IssuerKey, error)
	list    func(name string) (jsontext.Value, error) // a status list as of now
}

// scopes are the scopes of a bundle: no more than an auditor's, and no personal
// data.
var scopes = []string{
	"analytics:read", "audit:read", "claims:read", "credentials:read", "entities:read", "protocols:read", "responses:read", "sampling:read", "surveys:read",
}

// get reads a path of the API into v.
func (g *gatherer) get(path string, v any) error {
	w, err := g.fetch(path)
	if err != nil {
		return err
	}
	defer func() { _ = w.Body.Close() }() // nothing is left in it
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return err
	}
	if w.StatusCode != http.StatusOK {
		var problem struct{ Code, Message string }
		_ = json.Unmarshal(text, &problem, json.MatchCaseInsensitiveNames(true)) // without it the status has to do
		return fault.New(fault.Conflict, "REPORT_INCOMPLETE", fmt.Sprintf("%s answers %d %s. %s", path, w.StatusCode, problem.Code, problem.Message))
	}
	if raw, ok := v.(*jsontext.Value); ok {
		*raw = text
		return nil
	}
	return json.Unmarshal(text, v)
}

// errEnough ends pages before the list does.
var errEnough = errors.New("enough")

// pages reads the items of a list, page by page, until its end or errEnough.
func pages[T any](get func(path string, v any) error, path string, visit func(*T) error) error {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	for cursor := ""; ; {
		var p struct {
			Items []T          `json:"items"`
			Page  api.PageInfo `json:"page"`
		}
		next := path + mark + "limit=200"
		if cursor != "" {
			next += "&cursor=" + url.QueryEscape(cursor)
		}
		if err := get(next, &p); err != nil {
			return err
		}
		for i := range p.Items {
			if err := visit(&p.Items[i]); errors.Is(err, errEnough) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if cursor = p.Page.NextCursor; !p.Page.HasMore || cursor == "" {
			return nil
		}
	}
}

// name returns a DID, or a pseudonym for the DID of a person or a household.
func (g *gatherer) name(id string) (string, error) {
	if got, ok := g.names[id]; ok || id == "" {
		return got, nil
	}
	out, err := g.named(id)
	g.names[id] = out
	return out, err
}

// all writes everything but the manifest.
func (g *gatherer) all() error {
	if err := g.w.bytes(readmeName, []byte(readme)); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func() error
	}{{"project", g.whole}, {"surveys", g.surveys}, {"draws", g.draws}, {"claims", g.claims}, {"credentials", g.credentials}} {
		if err := g.tell(step.name); err != nil {
			return err
		}
		if err := step.run(); err != nil {
			return err
		}
	}
	return lines(g.w, revisionsName, g.revisions)
}

func (g *gatherer) whole() error {
	var p struct {
		DID      string `json:"did"`
		Type     string `json:"type"`
		Protocol string `json:"protocol"`
		Status   string `json:"status"`
		Revision int64  `json:"revision"`
	}
	if err := g.get("/v1/entities/"+url.PathEscape(g.project), &p); err != nil {
		return err
	}
	if err := g.past(g.project); err != nil {
		return err
	}
	return g.w.value(projectName, p)
}

// past notes the hashes of the revisions of a twin.
func (g *gatherer) past(id string) error {
	return pages(g.get, "/v1/entities/"+url.PathEscape(id)+"/history", func(r *api.Revision) error {
		g.revisions = append(g.revisions, revision{id, r.Revision, r.At, r.Hash})
		return nil
	})
}

func (g *gatherer) surveys() error {
	return pages(g.get, "/v1/surveys?projectId="+url.QueryEscape(g.project), func(s *struct {
		ID     string `json:"surveyId"`
		Status string `json:"status"`
	},
	) error {
		if s.Status == "draft" {
			return nil
		}
		at, folder := "/v1/surveys/"+url.PathEscape(s.ID), "surveys/"+safe(s.ID)+"/"
		var all map[string]jsontext.Value
		if err := g.get(at, &all); err != nil {
			return err
		}
		if err := g.nobodyInSurvey(all); err != nil {
			return err
		}
		if err := g.w.value(folder+"survey.json", all); err != nil {
			return err
		}
		var book jsontext.Value
		if err := g.get(at+"/codebook", &book); err != nil {
			return err
		}
		if err := g.w.bytes(folder+"codebook.json", append(bytes.TrimSpace(book), '\n')); err != nil {
			return err
		}
		if err := g.w.file(folder+"responses.ndjson", func(out io.Writer) error { return g.responses(out, at) }); err != nil {
			return err
		}
		b, err := g.figures(s.ID)
		if err != nil {
			return err
		}
		return g.w.bytes(folder+figuresName, append(b, '\n'))
	})
}

// figuresName is the file of a survey that its figures come from.
const figuresName = "figures.json"

// responses writes the responses of a survey as seen by a reader who may know
// nobody.
func (g *gatherer) responses(out io.Writer, at string) error {
	return pages(g.get, at+"/responses", func(r *jsontext.Value) error {
		var head struct {
			Record   string `json:"recordId"`
			ID       string `json:"responseId"`
			Revision int64  `json:"revision"`
		}
		if err := json.Unmarshal(*r, &head); err != nil {
			return err
		}
		if head.Record == "" {
			head.Record = head.ID
		}
		canonical, err := g.nobodyInResponse(*r)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(canonical)
		g.revisions = append(g.revisions, revision{Of: head.Record, Revision: head.Revision, Hash: hex.EncodeToString(sum[:])})
		_, err = out.Write(append(canonical, '\n'))
		return err
	})
}

func (g *gatherer) draws() error {
	some := false
	err := pages(g.get, "/v1/sampling/draws?projectId="+url.QueryEscape(g.project), func(d *struct {
		ID    string `json:"drawId"`
		State string `json:"state"`
		Units string `json:"units"`
	},
	) error {
		switch {
		case d.State != "drawn":
			g.w.LeftOut = append(g.w.LeftOut, "The draw "+d.ID+" was committed to and never made.")
			return nil
		case d.Units == "did":
			g.w.LeftOut = append(g.w.LeftOut, "The draw "+d.ID+" names households by their DIDs, which no bundle does.")
			return nil
		}
		rec := new(api.SampleRecord)
		if err := g.get("/v1/sampling/draws/"+url.PathEscape(d.ID)+"/record", rec); err != nil {
			return err
		}
		if err := g.nobodyInDraw(rec); err != nil {
			return err
		}
		some = true
		return g.w.value("draws/"+safe(d.ID)+".json", rec)
	})
	if some {
		g.w.LeftOut = append(g.w.LeftOut, "Draws have made-up names in the place of people, no reasons, and so no entries of the audit log. Compare designs and times with the log by the record of the server (hearth sample verify).")
	}
	return err
}

func (g *gatherer) claims() error {
	var all []claimLine
	var judged []evaluation
	var calculated []calculation
	err := pages(g.get, "/v1/claims?projectId="+url.QueryEscape(g.project), func(listed *api.Claim) error {
		c := new(api.Claim)
		if err := g.get("/v1/claims/"+url.PathEscape(listed.ID), c); err != nil {
			return err
		}
		one, err := g.claim(c)
		if err != nil {
			return err
		}
		all = append(all, one)
		if calc := g.calculation(c); calc != nil {
			calculated = append(calculated, *calc)
		}
		if err := g.past(c.ID); err != nil {
			return err
		}
		return pages(g.get, "/v1/claims/"+url.PathEscape(c.ID)+"/evaluations", func(e *api.ClaimEvaluation) error {
			v, err := g.evaluation(c, e)
			judged = append(judged, v)
			return err
		})
	})
	if err != nil {
		return err
	}
	if g.texts > 0 {
		g.w.LeftOut = append(g.w.LeftOut, fmt.Sprintf("%d pieces of evidence are text: they are counted, but neither shown nor hashed.", g.texts))
	}
	if g.uncounted > 0 {
		g.w.LeftOut = append(g.w.LeftOut, fmt.Sprintf("%d claims name a calculation that does not count: the claim is not approved, or the calculation does not come out as the claim says.", g.uncounted))
	}
	var protocols []*rules
	for _, r := range g.rules {
		protocols = append(protocols, r)
	}
	slices.SortFunc(protocols, func(a, b *rules) int { return strings.Compare(a.Protocol+"@"+a.Version, b.Protocol+"@"+b.Version) })
	if err := g.w.value(protocolsName, protocols); err != nil {
		return err
	}
	if err := lines(g.w, claimsName, all); err != nil {
		return err
	}
	if err := lines(g.w, evaluationsName, judged); err != nil {
		return err
	}
	return lines(g.w, calculationsName, calculated)
}

// hashed is how evidence names something by its hash.
var hashed = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

// ofText replaces evidence that is text. Its hash would let anybody test guesses of the
// text.
const ofText = "of-text"

// claim is a claim without what people wrote into it. It has the CID only together
// with the whole document; otherwise anybody could test guesses of whom the claim is
// about.
func (g *gatherer) claim(c *api.Claim) (out claimLine, err error) {
	out = claimLine{ID: c.ID, Kind: c.Kind, PeriodStart: c.PeriodStart, PeriodEnd: c.PeriodEnd, Amount: c.Amount, Approved: c.Approved, Status: c.Status, Submitted: c.Submitted}
	if out.Subject, err = g.name(c.Subject); err != nil {
		return out, err
	}
	if out.Claimant, err = g.name(c.Claimant); err != nil {
		return out, err
	}
	plain := out.Subject == c.Subject && out.Claimant == c.Claimant
	if c.Document == nil {
		return out, nil
	}
	for _, e := range c.Document.Evidence {
		if p, err := parse(jsontext.Value(e)); err == nil && things[p.Type].path != "" && p.Hash != "" {
			plain, e = false, p.Hash
		} else if !hashed.MatchString(e) {
			plain, e = false, ofText
			g.texts++
		}
		out.Evidence = append(out.Evidence, e)
	}
	if plain && c.Document.Data == nil {
		out.Document, out.CID = c.Document, c.CID
	}
	return out, nil
}

// evaluation is one without what people wrote into it.
func (g *gatherer) evaluation(c *api.Claim, e *api.ClaimEvaluation) (evaluation, error) {
	out := evaluation{Claim: c.ID, ClaimEvaluation: *e}
	out.Reason, out.ReasonErased = "", false
	var err error
	if out.Evaluator, err = g.name(e.Evaluator); err != nil {
		return out, err
	}
	kind, err := g.kind(e.Protocol, e.Version, c.Kind)
	if err != nil {
		return out, err
	}
	out.Facts = map[string]api.KnownFact{}
	for id, f := range e.Facts {
		if kind[id] == "text" || kind[id] == "" {
			out.Withheld = append(out.Withheld, id)
			continue
		}
		out.Facts[id] = f
	}
	out.Withheld = append(out.Withheld, g.unnamed(c, g.rules[e.Protocol+"@"+e.Version])...)
	slices.Sort(out.Withheld)
	return out, nil
}

// kind is the types of the facts of a claim type, by their ids.
func (g *gatherer) kind(protocol, version, kind string) (map[string]string, error) {
	key := protocol + "@" + version
	r := g.rules[key]
	if r == nil {
		r = &rules{Protocol: protocol, Version: version}
		if err := g.get("/v1/protocols/"+url.PathEscape(protocol)+"?view=effective&version="+url.QueryEscape(version), r); err != nil {
			return nil, err
		}
		r.Protocol, r.Version = protocol, version
		g.rules[key] = r
	}
	var t struct {
		Verification struct {
			Facts []struct{ ID, Type string } `json:"facts"`
		} `json:"verification"`
	}
	_ = json.Unmarshal(r.ClaimTypes[kind], &t, json.MatchCaseInsensitiveNames(true)) // a type without a rubric has no facts
	out := map[string]string{}
	for _, f := range t.Verification.Facts {
		out[f.ID] = f.Type
	}
	return out, nil
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// safe is an id as part of the name of a file.
func safe(id string) string { return unsafe.ReplaceAllString(id, "_") }

const readme = `A bundle for auditors, made by Hearth.

manifest.json has the SHA-256 of every file here, signed by the oracle that issued the
credentials. People and households have made-up names, the same in all files.

  hearth audit verify BUNDLE --issuer DID

draws every sample again, makes every figure again, decides every evaluation again by its
rubric, calculates again what was calculated, and checks every signature and status. It
needs no server. Ask the issuer, in another way than this file, for its DID.
`
