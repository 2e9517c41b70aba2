package export

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const feeding = "An OData 4.0 feed for Excel, Power BI, R and Python. Submissions has a row for each response that is not superseded, invalidated or redacted, in the order of arrival, with the columns of the wide table of exports: " +
	"characters that OData does not accept in a name become underscores (home.size is home_size), and …_noAnswer beside a column says why there is no answer. __id is the responseId, and __system has the same members as for a submission in ODK Central. Each repeat has a table of its own, Submissions_section_question, or is inside its response with $expand=*. " +
	"Follow @odata.nextLink, which continues where the page ends even when responses arrive in between; a page may be short. Personal data is as in exports: pii=none, pseudonymised (default), or full, which needs the scope `responses:pii`."

// feedRoutes adds the feed of a survey to a.
func (s *Service) feedRoutes(a *web.API) {
	const path, scope = "/v1/surveys/{surveyId}/odata", "responses:read"
	codes := []string{"SURVEY_NOT_FOUND", "INVALID_PARAMETER", "SCOPE_MISSING"}
	pii := web.Param{Name: "pii", Doc: "none, pseudonymised (default) or full.", Example: "pseudonymised"}
	a.Handle(http.MethodGet, path, s.serveFeed, web.Doc{
		Summary: "List the tables of a survey's feed", Scope: scope, Tag: tag, Answer: api.ODataService{}, Query: []web.Param{pii}, Codes: codes, Description: feeding,
	})
	a.Handle(http.MethodGet, path+"/$metadata", s.serveFeedModel, web.Doc{
		Summary: "Describe the tables of a survey's feed", Scope: scope, Tag: tag, Produces: mediaXML, Query: []web.Param{pii}, Codes: codes,
	})
	a.Handle(http.MethodGet, path+"/{table}", s.serveFeedTable, web.Doc{
		Summary: "Read a table of a survey's feed", Scope: scope, Tag: tag, Answer: api.ODataPage{}, Codes: append([]string{"TABLE_NOT_FOUND", "INVALID_CURSOR", "COUNT_NOT_POSSIBLE"}, codes...), Description: feeding,
		Query: []web.Param{
			{Name: "$top", Doc: "Number of rows to send, over all pages.", Example: "100"},
			{Name: "$skiptoken", Doc: "Where the next page starts; @odata.nextLink has it."},
			{Name: "$count", Doc: "true adds @odata.count: for Submissions, up to 10,000, with no filter other than on submission dates.", Example: "true"},
			{Name: "$filter", Doc: "Comparisons (eq ne gt ge lt le) of __system/submissionDate, __system/updatedAt and __system/reviewState, joined with and.", Example: "__system/submissionDate ge 2026-01-01T00:00:00Z"},
			{Name: "$select", Doc: "Names of columns, separated by commas; all by default. __id is always included."},
			{Name: "$expand", Doc: "* puts repeats into their responses.", Example: "*"},
			{Name: "$format", Doc: "json."},
			pii,
		},
	})
}

const mediaXML = "application/xml"

// Limits of a page of a feed.
const (
	feedRows   = 1000    // of a page
	feedLooks  = 5       // batches of responses that one request reads
	feedBytes  = 8 << 20 // of a page
	feedCounts = 10_000  // responses that are counted
	// feedSlack is how far the number of a response may be from its time of arrival.
	feedSlack = 10 * time.Minute
)

type feedIn struct {
	Survey string `path:"surveyId"`
	PII    string `query:"pii" enum:"none,pseudonymised,full"`
}

type feedTableIn struct {
	Survey string `path:"surveyId"`
	Table  string `path:"table"`
	PII    string `query:"pii" enum:"none,pseudonymised,full"`
	Top    string `query:"$top"`
	Token  string `query:"$skiptoken"`
	Count  string `query:"$count" enum:"true,false"`
	Filter string `query:"$filter"`
	Select string `query:"$select"`
	Expand string `query:"$expand" enum:"*"`
	Format string `query:"$format"`
}

// feed is one request for a feed.
type feed struct {
	s     *Service
	o     *survey.Open
	level Level
	model *feedModel
	base  string

	table  *feedTable
	top    int // rows that are still wanted; -1 for all
	at     feedSpot
	count  bool
	expand bool
	filter feedFilter
	chosen map[string]bool // nil: all
}

// feedSpot is where a page continues.
type feedSpot struct {
	After int64 `json:"a"`          // the last response that was read
	In    int64 `json:"i,omitzero"` // a response some of whose rows were sent
	Given int   `json:"g,omitzero"` // how many these are
	Left  int   `json:"l,omitzero"` // rows that are still wanted, and one more; 0 for all
}

// openFeed opens the feed of a survey for the caller. Faults: SURVEY_NOT_FOUND,
// INVALID_PARAMETER, SCOPE_MISSING.
func (s *Service) openFeed(r *http.Request, surveyID, pii string) (*feed, error) {
	o, err := s.cfg.Surveys.Open(r.Context(), surveyID)
	if err != nil {
		return nil, err
	}
	level := Pseudonymised
	if pii != "" {
		level = Level(pii)
	}
	var c fault.Checks
	if !slices.Contains(Levels(), level) {
		c.Add("query/pii", "unknown", "The value must be none, pseudonymised or full.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	if err := mayAll(r.Context(), level); err != nil {
		return nil, err
	}
	base := s.cfg.PublicURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	l := NewLayout(LayoutConfig{
		Survey: o.SurveyID, Form: o.Form, Level: level, Shape: Wide, Repeats: Tables, Names: s.cfg.Vault.Pseudonyms(o.Workspace, o.Project),
	})
	return &feed{s: s, o: o, level: level, model: newFeedModel(l), base: strings.TrimSuffix(base, "/") + "/v1/surveys/" + url.PathEscape(o.SurveyID) + "/odata", top: -1}, nil
}

// context is the address that describes the content.
func (f *feed) context(of string) string {
	query := ""
	if f.level != Pseudonymised {
		query = "?pii=" + string(f.level)
	}
	return f.base + "/$metadata" + query + of
}

// sendFeed answers with a document of OData.
func sendFeed(w http.ResponseWriter, media string, body []byte) error {
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the reader is gone when this fails
	return nil
}

const feedJSON = "application/json;odata.metadata=minimal;charset=utf-8"

func (s *Service) serveFeed(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[feedIn](r)
	if err != nil {
		return err
	}
	f, err := s.openFeed(r, in.Survey, in.PII)
	if err != nil {
		return err
	}
	out := api.ODataService{Context: f.context("")}
	for _, t := range f.model.all {
		address := t.name
		if f.level != Pseudonymised {
			address += "?pii=" + string(f.level)
		}
		out.Value = append(out.Value, api.ODataTable{Name: t.name, Kind: "EntitySet", URL: address})
	}
	body, err := web.Encode(out)
	if err != nil {
		return err
	}
	return sendFeed(w, feedJSON, body)
}

func (s *Service) serveFeedModel(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[feedIn](r)
	if err != nil {
		return err
	}
	f, err := s.openFeed(r, in.Survey, in.PII)
	if err != nil {
		return err
	}
	return sendFeed(w, mediaXML, f.model.document())
}

func (s *Service) serveFeedTable(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[feedTableIn](r)
	if err != nil {
		return err
	}
	f, err := s.openFeed(r, in.Survey, in.PII)
	if err != nil {
		return err
	}
	if err := f.ask(r, in); err != nil {
		return err
	}
	body, err := f.page(r)
	if err != nil {
		return err
	}
	return sendFeed(w, feedJSON, body)
}

// ask reads the parameters. Faults: TABLE_NOT_FOUND, INVALID_PARAMETER,
// INVALID_CURSOR, COUNT_NOT_POSSIBLE.
func (f *feed) ask(r *http.Request, in *feedTableIn) error {
	if f.table = f.model.find(in.Table); f.table == nil {
		return fault.New(fault.NotFound, "TABLE_NOT_FOUND", "The feed has no table of this name.").With(fault.Field{Pointer: "path/table", Code: "not_found", Detail: "GET /v1/surveys/{surveyId}/odata lists the tables."})
	}
	var c fault.Checks
	if in.Top != "" {
		n, err := strconv.Atoi(in.Top)
		if f.top = n; err != nil || n < 0 {
			c.Add("query/$top", "invalid", "The value must be a whole number, 0 or more.")
		}
	}
	if in.Format != "" && in.Format != "json" && !strings.HasPrefix(in.Format, "application/json") {
		c.Add("query/$format", "unknown", "The value must be json.")
	}
	f.count, f.expand, f.filter = in.Count == "true", in.Expand != "", parseFeedFilter(in.Filter, &c)
	f.choose(in.Select, &c)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return err
	}
	if in.Token != "" {
		if err := f.s.cfg.Cursors.Decode(f.scope(r), in.Token, &f.at); err != nil {
			return fault.New(fault.Invalid, "INVALID_CURSOR", "The token does not belong to this table. Start again without it.").
				With(fault.Field{Pointer: "query/$skiptoken", Code: "invalid", Detail: "Follow @odata.nextLink unchanged."}).Wrap(err)
		}
		f.top = f.at.Left - 1
	}
	return nil
}

// choose reads $select.
func (f *feed) choose(text string, c *fault.Checks) {
	if text == "" || text == "*" {
		return
	}
	known := map[string]bool{feedID: true, feedSystem: true, feedParent: true, "parentIndex": true, "index": true}
	for i := range f.table.properties {
		known[f.table.properties[i].name] = true
	}
	f.chosen = map[string]bool{feedID: true}
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if !known[name] {
			c.Add("query/$select", "unknown", "The table has no column "+name+".")
			return
		}
		f.chosen[name] = true
	}
}

func (f *feed) wants(name string) bool { return f.chosen == nil || f.chosen[name] }

// scope is the list that a token belongs to.
func (f *feed) scope(r *http.Request) web.CursorScope {
	q := r.URL.Query()
	for _, name := range []string{"$skiptoken", "$top", "$count"} {
		q.Del(name)
	}
	return web.CursorScope{Workspace: f.o.Workspace, Route: r.URL.Path, Filter: q.Encode()}
}

// next is the address of the next page.
func (f *feed) next(r *http.Request, at feedSpot) (string, error) {
	token, err := f.s.cfg.Cursors.Encode(f.scope(r), at)
	if err != nil {
		return "", err
	}
	q := r.URL.Query()
	for _, name := range []string{"$top", "$count"} {
		q.Del(name)
	}
	q.Set("$skiptoken", token)
	return f.base + "/" + url.PathEscape(f.table.name) + "?" + q.Encode(), nil
}

// span are the numbers that the responses of the filter have.
func (f *feed) span() (after, last int64) {
	after, last = f.at.After, math.MaxInt64
	if !f.filter.from.IsZero() {
		after = max(after, db.NIDAt(f.filter.from.Add(-feedSlack))-1)
	}
	if !f.filter.until.IsZero() {
		last = db.NIDAt(f.filter.until.Add(feedSlack))
	}
	return after, last
}

const selectCount = `SELECT count(*) FROM (SELECT 1 FROM responses WHERE survey = $1 AND nid > $2 AND nid <= $3 AND status <> 'redacted' AND vstatus NOT IN ('superseded', 'invalidated')
	AND received_at >= $4 AND received_at < $5 LIMIT $6) AS n`

// total counts the rows of the table on all pages.
func (f *feed) total(ctx context.Context) (int64, error) {
	no := func(why string) error {
		return fault.New(fault.Invalid, "COUNT_NOT_POSSIBLE", "The rows are not counted: "+why).With(fault.Field{Pointer: "query/$count", Code: "not_supported", Detail: "Leave it out, and follow @odata.nextLink to the end."})
	}
	if f.table.table != nil {
		return 0, no("only those of Submissions are.")
	}
	from, until := int64(0), int64(math.MaxInt64)
	for _, t := range f.filter.terms {
		at := t.at.UnixMilli()
		switch {
		case t.name != "receivedAt" || t.op == "ne":
			return 0, no("the filter uses more than the submission date.")
		case t.op == "ge":
			from = max(from, at)
		case t.op == "gt":
			from = max(from, at+1)
		case t.op == "lt":
			until = min(until, at)
		case t.op == "le":
			until = min(until, at+1)
		default:
			from, until = max(from, at), min(until, at+1)
		}
	}
	after, last := (&feed{filter: f.filter}).span()
	var n int64
	if err := f.s.db.QueryRow(ctx, selectCount, f.o.NID, after, last, from, until, feedCounts+1).Scan(&n); err != nil {
		return 0, db.Wrap("count responses", err)
	}
	if n > feedCounts {
		return 0, no("there are more than 10,000.")
	}
	return n, nil
}

// reader finds the responses of the feed.
func (f *feed) reader(last int64) *reader {
	r := &reader{s: f.s, o: f.o, d: &Draft{PII: f.level, AsOf: f.s.cfg.Now().Add(24 * time.Hour)}, last: last}
	if len(f.filter.terms) > 0 {
		r.match = func(row *response.Row) (bool, error) { return f.filter.match(row) }
	}
	return r
}
