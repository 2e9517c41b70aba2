package client

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
)

const demoPath = "/v1/demo"

// DemoProgramme is the demo programme of the server, for owners.
type DemoProgramme struct{ c *Client }

// Types of package api.
type (
	Demo       = api.Demo
	DemoCounts = api.DemoCounts
	DemoLinks  = api.DemoLinks
	DemoDraft  = api.DemoDraft
)

// Get reads the state of the demo.
func (d DemoProgramme) Get(ctx context.Context, opts ...Option) (*Demo, error) {
	return do[Demo](ctx, d.c, get(demoPath, nil), opts)
}

// Load begins to load the demo, or joins a load that was begun. Wait for it
// with Jobs.Wait. Codes: DEMO_STORE_OCCUPIED, DEMO_IN_PRODUCTION,
// DEMO_REMOVING, SCOPE_MISSING.
func (d DemoProgramme) Load(ctx context.Context, draft DemoDraft, opts ...Option) (*Job, error) {
	k := post(demoPath, draft)
	k.keyed, k.safe = false, true
	return do[Job](ctx, d.c, k, opts)
}

// Remove begins to remove the demo, or joins a removal that was begun. Wait for
// it with Jobs.Wait. Codes: DEMO_NOT_FOUND, SCOPE_MISSING.
func (d DemoProgramme) Remove(ctx context.Context, opts ...Option) (*Job, error) {
	k := remove(demoPath)
	k.safe = true
	return do[Job](ctx, d.c, k, opts)
}
