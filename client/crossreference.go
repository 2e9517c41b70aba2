package client

import (
	"context"
	"io"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	CrossReferenceDraft = api.CrossReferenceDraft
	CrossReference      = api.CrossReference
	CrossPeriod         = api.CrossPeriod
	CrossPair           = api.CrossPair
)

func crossPath(survey, id string) string {
	return surveyPath(survey) + "/cross-reference/" + url.PathEscape(id)
}

// CrossReference compares the answers of a survey with measurements. Codes:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND, CROSS_REFERENCE_INVALID.
func (q Quality) CrossReference(ctx context.Context, surveyID string, d CrossReferenceDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, q.c, post(surveyPath(surveyID)+"/cross-reference", d), opts)
}

// GetCrossReference reads a result. Codes: SURVEY_NOT_FOUND,
// CROSS_REFERENCE_NOT_FOUND.
func (q Quality) GetCrossReference(ctx context.Context, surveyID, id string, opts ...Option) (*CrossReference, error) {
	return do[CrossReference](ctx, q.c, get(crossPath(surveyID, id), nil), opts)
}

// CrossPicture draws a result as SVG; with differences it shows the differences
// of amounts in place of both values. Close it. Codes are those of
// GetCrossReference.
func (q Quality) CrossPicture(ctx context.Context, surveyID, id string, differences bool, opts ...Option) (io.ReadCloser, error) {
	v := url.Values{"format": {"svg"}}
	if differences {
		v.Set("picture", "differences")
	}
	return q.c.download(ctx, get(crossPath(surveyID, id), v), opts)
}

// CrossReferencePage reads one page of the results of a survey, newest first.
func (q Quality) CrossReferencePage(ctx context.Context, surveyID string, p PageQuery, opts ...Option) (*Page[CrossReference], error) {
	return page[CrossReference](ctx, q.c, surveyPath(surveyID)+"/cross-reference", p.values(), opts)
}

// CrossReferences walks over the results of a survey, newest first. An error ends
// it.
func (q Quality) CrossReferences(ctx context.Context, surveyID string, opts ...Option) iter.Seq2[CrossReference, error] {
	return pages[CrossReference](ctx, q.c, surveyPath(surveyID)+"/cross-reference", url.Values{}, opts)
}

// CrossPairPage reads one page of the pairs of a result: what a household says
// and what was measured in it.
func (q Quality) CrossPairPage(ctx context.Context, surveyID, id string, p PageQuery, opts ...Option) (*Page[CrossPair], error) {
	return page[CrossPair](ctx, q.c, crossPath(surveyID, id)+"/pairs", p.values(), opts)
}

// CrossPairs walks over all pairs of a result. An error ends it.
func (q Quality) CrossPairs(ctx context.Context, surveyID, id string, opts ...Option) iter.Seq2[CrossPair, error] {
	return pages[CrossPair](ctx, q.c, crossPath(surveyID, id)+"/pairs", url.Values{}, opts)
}
