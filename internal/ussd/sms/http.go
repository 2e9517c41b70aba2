package sms

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Desk shows messages to customer support, over HTTP.
type Desk struct {
	Outbox  *Outbox
	Cursors web.Cursors
}

// Routes adds the desk to a.
func (d Desk) Routes(a *web.API) {
	web.Get(a, "/v1/ussd/messages", d.serveList, web.Doc{
		Summary: "List short messages of the line, newest first", Tag: "line", Scope: "ussd:read", Codes: []string{"INVALID_PARAMETER", "LINE_NOT_FOUND", "KEY_RESTRICTED"},
		Description: "Whether each was sent, and if not, why. Neither number nor text is kept once a message was sent or given up. Follow hasMore: with a status a page may be short.",
	})
}

type listIn struct {
	Status Status `query:"status" enum:"queued,sent,failed" doc:"Only messages in this status."`
	web.Paging
}

func (d Desk) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[api.ShortMessage]], error) {
	var none web.Reply[web.Page[api.ShortMessage]]
	if err := auth.OperatorsLine(ctx); err != nil {
		return none, err
	}
	var c fault.Checks
	in.Size(&c)
	if in.Status != "" && !slices.Contains([]Status{Queued, Sent, Failed}, in.Status) {
		c.Add("query/status", "unknown", "The status must be queued, sent or failed.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return none, err
	}
	before := lastID
	return web.List(ctx, d.Cursors, in.Paging, &before, func(limit int) (out []api.ShortMessage, next any, err error) {
		list, err := newest(ctx, d.Outbox.cfg.DB, before, limit+1)
		if len(list) > limit {
			list = list[:limit]
			next = list[limit-1].ID
		}
		for _, m := range list {
			if in.Status == "" || m.Status == in.Status {
				out = append(out, api.ShortMessage{
					ID: m.ID, Status: string(m.Status), Attempts: m.Attempts, ProviderID: m.ProviderID, Error: m.Error, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
				})
			}
		}
		return out, next, err
	})
}
