package mcp

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Addresses of resources.
const (
	twinsAt    = "hearth://twins/"
	surveysAt  = "hearth://surveys/"
	progressAt = "/progress"
	mediaType  = "application/json"
)

// The scopes for reading.
const (
	readTwins   = "entities:read"
	readSurveys = "surveys:read"
)

const (
	pageSize    = 50 // resources of a page, at most
	maxComplete = 20 // values a completion gives
)

func (q *request) addResources(to *sdk.Server) {
	for _, t := range []*sdk.ResourceTemplate{
		{Name: "twin", Title: "Digital twin", URITemplate: twinsAt + "{+did}", Description: "A household, stove, device, project or organisation, by its DID.", MIMEType: mediaType},
		{Name: "survey", Title: "Survey", URITemplate: surveysAt + "{id}", Description: "A survey, by its id.", MIMEType: mediaType},
		{Name: "survey_progress", Title: "Progress of a survey", URITemplate: surveysAt + "{id}" + progressAt, Description: "How far a survey has come.", MIMEType: mediaType},
	} {
		to.AddResourceTemplate(t, q.read)
	}
	to.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			p, ok := r.GetParams().(*sdk.ListResourcesParams)
			if method != "resources/list" || !ok {
				return next(ctx, method, r)
			}
			cursor := ""
			if p != nil {
				cursor, p.Cursor = p.Cursor, ""
			}
			res, err := next(ctx, method, r)
			if list, ok := res.(*sdk.ListResourcesResult); ok && err == nil {
				err = q.list(ctx, cursor, list)
			}
			return res, err
		}
	})
}

// list fills a page of resources: twins, newest first, and after them surveys. A cursor
// is a letter for the two, and where the page before ended.
func (q *request) list(ctx context.Context, cursor string, out *sdk.ListResourcesResult) error {
	ctx, cancel := q.within(ctx, callTime)
	defer cancel()
	kind, after, _ := strings.Cut(cursor, ".")
	out.Resources = []*sdk.Resource{}
	switch kind {
	case "", "t":
		return q.listTwins(ctx, after, out)
	case "s":
		return q.listSurveys(ctx, after, out)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The cursor is not one of this list."}
}

func (q *request) listTwins(ctx context.Context, after string, out *sdk.ListResourcesResult) error {
	as, err := q.cfg.Source.AsUser(ctx, readTwins)
	if fault.KindOf(err) == fault.Forbidden {
		return q.listSurveys(ctx, "", out) // who sees no twins may see surveys
	} else if err != nil {
		return q.refusal(ctx, err)
	}
	page, next, err := q.cfg.Source.List(as, lookup.TwinList{After: after, Limit: pageSize})
	if err != nil {
		return q.refusal(ctx, err)
	}
	for _, t := range page {
		out.Resources = append(out.Resources, &sdk.Resource{URI: twinsAt + t.DID, Name: t.DID, Title: nameOf(t), Description: t.Type + ", " + t.Status, MIMEType: mediaType})
	}
	if out.NextCursor = "s."; next != "" {
		out.NextCursor = "t." + next
	}
	return nil
}

// nameOf is what people call a twin: its name, or its type.
func nameOf(t lookup.Twin) string {
	var body struct {
		Metadata struct {
			Name jsontext.Value `json:"name"`
		} `json:"metadata"`
	}
	var name string
	if json.Unmarshal(t.Body, &body) == nil && json.Unmarshal(body.Metadata.Name, &name) == nil && name != "" {
		return name
	}
	return t.Type
}

func (q *request) listSurveys(ctx context.Context, after string, out *sdk.ListResourcesResult) error {
	as, err := q.cfg.Source.AsUser(ctx, readSurveys)
	if fault.KindOf(err) == fault.Forbidden {
		return nil
	} else if err != nil {
		return q.refusal(ctx, err)
	}
	query := lookup.SurveyQuery{}
	if after != "" {
		if query.Next, err = strconv.ParseInt(after, 10, 64); err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The cursor is not one of this list."}
		}
	}
	page, err := q.cfg.Source.Surveys(as, query)
	if err != nil {
		return q.refusal(ctx, err)
	}
	for _, one := range page.Surveys {
		out.Resources = append(out.Resources, &sdk.Resource{URI: surveysAt + one.ID, Name: one.ID, Title: one.Name, Description: one.Stage + ", " + one.Status, MIMEType: mediaType})
	}
	if page.More && page.Next != 0 {
		out.NextCursor = "s." + strconv.FormatInt(page.Next, 10)
	}
	return nil
}

// read reads a resource.
func (q *request) read(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	ctx, cancel := q.within(ctx, callTime)
	defer cancel()
	text, err := q.contents(ctx, r.Params.URI)
	switch {
	case fault.KindOf(err) == fault.NotFound && err != nil:
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	case err != nil:
		return nil, q.refusal(ctx, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mediaType, Text: string(text)}}}, nil
}

func (q *request) contents(ctx context.Context, uri string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(uri, twinsAt); ok {
		as, err := q.cfg.Source.AsUser(ctx, readTwins)
		if err != nil {
			return nil, err
		}
		return q.cfg.Source.ReadTwin(as, plain(rest))
	}
	rest, ok := strings.CutPrefix(uri, surveysAt)
	if !ok {
		return nil, fault.New(fault.NotFound, "RESOURCE_NOT_FOUND", "There is no such resource.")
	}
	as, err := q.cfg.Source.AsUser(ctx, readSurveys)
	if err != nil {
		return nil, err
	}
	id, progress := strings.CutSuffix(rest, progressAt)
	if !progress {
		return q.cfg.ReadSurvey(as, plain(id))
	}
	found, err := q.cfg.Source.Progress(as, plain(id), 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// plain takes the escapes out of a part of an address.
func plain(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}

// complete proposes values for the argument of a template or of a prompt.
func (q *request) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	ctx, cancel := q.within(ctx, callTime)
	defer cancel()
	var values []string
	var err error
	switch begin := r.Params.Argument.Value; r.Params.Argument.Name {
	case "did", "twin":
		values, err = q.twinsLike(ctx, begin)
	case "id", "survey":
		values, err = q.surveysLike(ctx, begin)
	}
	if err != nil && fault.KindOf(err) != fault.Forbidden {
		return nil, q.refusal(ctx, err)
	}
	more := len(values) > maxComplete
	values = values[:min(len(values), maxComplete)]
	if values == nil {
		values = []string{}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values, HasMore: more}}, nil
}

// twinsLike are DIDs that begin so, among the newest, or those of twins whose name is
// like a text.
func (q *request) twinsLike(ctx context.Context, text string) ([]string, error) {
	if text != "" && !strings.HasPrefix("did:", text) && !strings.HasPrefix(text, "did:") {
		return q.twinsNamed(ctx, text)
	}
	as, err := q.cfg.Source.AsUser(ctx, readTwins)
	if err != nil {
		return nil, err
	}
	page, _, err := q.cfg.Source.List(as, lookup.TwinList{Limit: pageSize})
	var out []string
	for _, t := range page {
		if strings.HasPrefix(t.DID, text) {
			out = append(out, t.DID)
		}
	}
	return out, err
}

// twinsNamed asks the tool that finds twins, which knows what a name may mean.
func (q *request) twinsNamed(ctx context.Context, name string) ([]string, error) {
	offered := q.offered()
	i := slices.IndexFunc(offered, func(t tool.Tool) bool { return t.Spec().Name == "search_twins" })
	if i < 0 {
		return nil, nil
	}
	args, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return nil, err
	}
	found, err := q.run(ctx, offered[i], tool.Call{ID: "mcp", Name: "search_twins", Args: args})
	var list struct {
		Twins []struct {
			DID string `json:"did"`
		} `json:"twins"`
	}
	if err != nil || json.Unmarshal(found.Data, &list) != nil {
		return nil, err
	}
	var out []string
	for _, t := range list.Twins {
		out = append(out, t.DID)
	}
	return out, nil
}

// surveysLike are ids, among the newest surveys, that begin so or whose survey has a
// name with the text in it.
func (q *request) surveysLike(ctx context.Context, text string) ([]string, error) {
	as, err := q.cfg.Source.AsUser(ctx, readSurveys)
	if err != nil {
		return nil, err
	}
	page, err := q.cfg.Source.Surveys(as, lookup.SurveyQuery{})
	var out []string
	for _, one := range page.Surveys {
		if strings.HasPrefix(one.ID, text) || strings.Contains(strings.ToLower(one.Name), strings.ToLower(text)) {
			out = append(out, one.ID)
		}
	}
	return out, err
}
