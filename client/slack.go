package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	SlackCode  = api.SlackCode
	SlackLinks = api.SlackLinks
)

// SlackCode gets a code that links this client's principal to Slack.
func (o Oracle) SlackCode(ctx context.Context, opts ...Option) (*SlackCode, error) {
	k := post("/slack/links", nil)
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return do[SlackCode](ctx, o.c, k, opts)
}

// SlackLinks lists who this client's principal is in Slack.
func (o Oracle) SlackLinks(ctx context.Context, opts ...Option) (*SlackLinks, error) {
	k := get("/slack/links", nil)
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return do[SlackLinks](ctx, o.c, k, opts)
}

// UnlinkSlack ends a link to Slack.
func (o Oracle) UnlinkSlack(ctx context.Context, id string, opts ...Option) (*SlackLinks, error) {
	k := remove("/slack/links/" + url.PathEscape(id))
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return do[SlackLinks](ctx, o.c, k, opts)
}
