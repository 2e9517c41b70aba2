package client

import (
	"context"
	"io"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Nouns of package api, by their names here.
type (
	ODataService = api.ODataService
	ODataTable   = api.ODataTable
	ODataPage    = api.ODataPage
)

// Feeds are surveys in the form of OData 4.0.
type Feeds struct{ c *Client }

// Tables lists the tables of the feed of a survey. query may contain pii. Code:
// SURVEY_NOT_FOUND.
func (s Feeds) Tables(ctx context.Context, survey string, query url.Values, opts ...Option) (*ODataService, error) {
	return do[ODataService](ctx, s.c, get(surveyPath(survey)+"/odata", query), opts)
}

// Metadata reads the description of the tables of a feed, in XML. Close it.
func (s Feeds) Metadata(ctx context.Context, survey string, query url.Values, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(surveyPath(survey)+"/odata/$metadata", query), opts)
}

// Read reads a page of a table of a feed. query has the options of OData; for
// the next page it has those of NextLink. Codes: TABLE_NOT_FOUND,
// INVALID_PARAMETER, INVALID_CURSOR, COUNT_NOT_POSSIBLE, SCOPE_MISSING.
func (s Feeds) Read(ctx context.Context, survey, table string, query url.Values, opts ...Option) (*ODataPage, error) {
	return do[ODataPage](ctx, s.c, get(surveyPath(survey)+"/odata/"+url.PathEscape(table), query), opts)
}

// XML reads a response as ODK Collect would have sent it. Close it. Codes:
// RESPONSE_NOT_FOUND, XFORM_NOT_POSSIBLE.
func (r Responses) XML(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return r.c.download(ctx, get(responsePath(id)+"/xml", nil), opts)
}
