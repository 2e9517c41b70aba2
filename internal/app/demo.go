package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/demo"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/crossref"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/survey/kpt"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// buildDemo makes the demo programme. It has the parts of all areas, whichever this
// server runs, because they share one store.
func (a *App) buildDemo() {
	r := removal{a}
	c := demo.Config{
		DB: a.DB, Auth: a.Auth, Jobs: a.Jobs, Events: a.Events, Log: a.log, Handler: func() http.Handler { return a.within },
		Line: a.line != nil && !a.cfg.USSD.GatewayOnly, Production: a.cfg.Server.Environment == "production", Occupied: r.occupied, Scale: a.small,
		Find: []demo.Part{
			{Name: "what it has", Remove: r.find}, {Name: "webhook", Remove: r.removeHooks}, {Name: "relationships", Remove: r.endEdges},
		},
		Parts: []demo.Part{
			{Name: "customers", Remove: r.removeCustomers},
			{Name: "conversations", Remove: r.removeChats},
			{Name: "surveys", Remove: r.removeSurveys},
			{Name: "jobs", Remove: r.removeJobs},
			{Name: "twins", Remove: r.removeTwins},
			{Name: "keys", Remove: r.removeKeys},
			{Name: "copies", Remove: r.removeCopies},
		},
	}
	c.Key, c.Customer = a.Key, r.customer
	c.Days = func(ctx context.Context) error {
		_, err := a.twins.devices.Catch(ctx)
		return err
	}
	if a.mind != nil && a.cfg.Model.BaseURL == "" {
		c.Oracle = a.identity.DID.String()
	}
	a.demo = demo.New(c)
}

// removal takes a demo out of all areas.
type removal struct{ *App }

// customer returns what the line knows about a number.
func (a removal) customer(ctx context.Context, phone string) (demo.Customer, error) {
	accounts, err := a.customers()
	if err != nil {
		return demo.Customer{}, err
	}
	some, _, err := accounts.List(ctx, account.Filter{Phone: phone}, "", 1)
	if err != nil || len(some) == 0 {
		return demo.Customer{}, err
	}
	return demo.Customer{Known: true, ID: some[0].CustomerID, Settled: some[0].Twins != account.TwinsPending}, nil
}

// occupied says what the store holds besides the server's own twin.
func (a removal) occupied(ctx context.Context) (string, error) {
	for after, more := "", true; more; {
		list, next, err := a.Auth.ListWorkspaces(ctx, after, web.DefaultPage)
		if err != nil {
			return "", err
		}
		for _, w := range list {
			after = w.ID
			if what, err := a.holds(ctx, w.ID); err != nil || what != "" {
				return what, err
			}
		}
		more = next && len(list) > 0
	}
	accounts, err := a.customers()
	if err != nil {
		return "", err
	}
	if some, _, err := accounts.List(ctx, account.Filter{}, "", 1); err != nil || len(some) > 0 {
		return "customers of the USSD line", err
	}
	return "", nil
}

// holds says what a workspace holds.
func (a removal) holds(ctx context.Context, ws string) (string, error) {
	c := web.CallerFrom(ctx)
	c.Workspace = ws
	ctx = web.WithCaller(ctx, c)
	twins, err := a.twins.search.List(ctx, a.DB, entity.Query{Limit: 2})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(twins.Rows, func(r *entity.Row) bool { return r.DID != a.identity.DID.String() }) {
		return "twins in the workspace " + ws, nil
	}
	surveys, _, err := a.surveys.surveys.List(ctx, survey.Filter{}, 0, 1)
	if err != nil || len(surveys) == 0 {
		return "", err
	}
	return "surveys in the workspace " + ws, nil
}

// find finds the twins of a demo: those with its external ids, the groups of its
// organisations and the twins of its customers; and the names of its responses, keys
// and jobs, under which there are events.
func (a removal) find(ctx context.Context, h *demo.Holding) error {
	var dids []string
	for _, external := range h.Externals {
		did, err := entity.FindNamed(ctx, a.DB, h.Workspace, entity.ExternalID{Scheme: demo.Scheme, Value: external}, h.Since.UnixMilli())
		if err != nil {
			return err
		}
		if did != "" {
			dids = append(dids, did)
		}
	}
	customers, err := a.customersOf(ctx, h)
	if err != nil {
		return err
	}
	for _, c := range customers {
		h.Names[c.ID], h.Names[c.CustomerID], h.Names[c.DID] = true, true, true
		dids = append(dids, c.DID, c.Household)
	}
	for len(dids) > 0 {
		groups, err := a.add(ctx, h, dids[0])
		if err != nil {
			return err
		}
		dids = append(dids[1:], groups...)
	}
	return a.name(ctx, h)
}

// add adds a twin to a demo, if it exists, and returns the groups in it, or the claims
// about it and their credentials.
func (a removal) add(ctx context.Context, h *demo.Holding, did string) ([]string, error) {
	if _, ok := h.Twins[did]; ok || did == "" {
		return nil, nil
	}
	r, err := a.twins.entities.Find(ctx, a.DB, did)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h.Twins[did] = r.NID
	if r.DomainType != "organisation" && r.DomainType != "group" {
		return claim.About(ctx, a.DB, r.NID) // whoever made them
	}
	return a.twins.groups.In(ctx, r)
}

// name collects the names of things other than twins.
func (a removal) name(ctx context.Context, h *demo.Holding) error {
	for _, id := range h.Surveys {
		o, err := a.campaign(ctx, h, id)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		h.Names[id] = true
		ids, err := response.Names(ctx, a.DB, o.NID)
		if err != nil {
			return err
		}
		for _, id := range ids {
			h.Names[id] = true
		}
	}
	for did := range h.Twins {
		designs, err := sampling.Names(ctx, a.DB, h.Workspace, did)
		if err != nil {
			return err
		}
		tests, err := kpt.Names(ctx, a.DB, h.Workspace, did)
		if err != nil {
			return err
		}
		for _, id := range slices.Concat(designs, tests) {
			h.Names[id] = true
		}
	}
	jobs, err := a.jobsOf(ctx, h)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		h.Names[j.ID] = true
	}
	return a.eachKey(ctx, func(k auth.Key) {
		if a.owns(h, k) {
			h.Names[k.ID] = true
		}
	})
}

// campaign finds a survey of a demo: one with its id, of its project. It is nil
// when there is none; another project may have a survey with that id.
func (a removal) campaign(ctx context.Context, h *demo.Holding, id string) (*survey.Open, error) {
	o, err := a.surveys.surveys.Open(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // it is not there
	} else if err != nil {
		return nil, err
	}
	if _, ours := h.Twins[o.Project]; !ours || o.Created.Before(h.Since) {
		return nil, nil //nolint:nilnil // it belongs to somebody else
	}
	return o, nil
}

// eachKey walks over the keys of the workspace.
func (a removal) eachKey(ctx context.Context, visit func(auth.Key)) error {
	for after, more := "", true; more; {
		list, next, err := a.Auth.List(ctx, "", after, web.DefaultPage)
		if err != nil {
			return err
		}
		for _, k := range list {
			after = k.ID
			visit(k)
		}
		more = next != nil
	}
	return nil
}

// owns reports whether a key is one of a demo: of its people, or of its loader.
func (a removal) owns(h *demo.Holding, k auth.Key) bool {
	_, person := h.Twins[k.Principal]
	return person || strings.HasSuffix(k.Name, h.Keys) && k.CreatedBy == h.By && !k.CreatedAt.Before(h.Since)
}

// customersOf are the customers of the line with the numbers of a demo.
func (a removal) customersOf(ctx context.Context, h *demo.Holding) ([]account.Account, error) {
	if len(h.Phones) == 0 {
		return nil, nil
	}
	accounts, err := a.customers()
	if err != nil {
		return nil, err
	}
	var out []account.Account
	for _, phone := range h.Phones {
		some, _, err := accounts.List(ctx, account.Filter{Phone: phone}, "", web.DefaultPage)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// jobsOf are the jobs that the people of a demo have asked for, that its requests
// have led to, and the load itself.
func (a removal) jobsOf(ctx context.Context, h *demo.Holding) ([]job.Made, error) {
	return a.Jobs.Find(ctx, h.Workspace, func(m job.Made) bool {
		_, person := h.Twins[m.By]
		return person || h.IsLoad(m.Kind) || strings.HasPrefix(m.Request, h.Requests)
	})
}

// removeHooks removes the webhooks of a demo.
func (a removal) removeHooks(ctx context.Context, h *demo.Holding) error {
	if h.Webhook == "" {
		return nil
	}
	list, _, err := a.Webhooks.List(ctx, 0, webhook.Max)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Description != h.Webhook || w.CreatedAt.Before(h.Since) {
			continue
		}
		h.Names[w.ID] = true
		if _, err := a.Webhooks.Delete(ctx, w.ID, "*"); err != nil {
			return err
		}
	}
	return nil
}

// endEdges ends the relationships between twins of a demo and others. Whoever
// needs one of the demo to be active keeps the removal from going on.
func (a removal) endEdges(ctx context.Context, h *demo.Holding) error {
	inside := map[int64]bool{}
	for _, nid := range h.Twins {
		inside[nid] = true
	}
	for did, nid := range h.Twins {
		edges, err := entity.OtherEnds(ctx, a.DB, nid, inside)
		if err != nil {
			return err
		}
		for i := range edges {
			ended, err := a.twins.entities.ForgetRelationship(ctx, &edges[i])
			if err != nil {
				return err
			}
			if !ended {
				other := edges[i].SrcDID
				if other == did {
					other = edges[i].DstDID
				}
				return job.Permanent(fault.New(fault.Conflict, "DEMO_IN_USE", "The twin "+other+" needs "+did+" of the demo to be active. Link it to another one or deactivate it, then remove the demo again."))
			}
		}
	}
	return nil
}

func (a removal) removeCustomers(ctx context.Context, h *demo.Holding) error {
	customers, err := a.customersOf(ctx, h)
	if err != nil {
		return err
	}
	accounts, err := a.customers()
	if err != nil {
		return err
	}
	for _, c := range customers {
		err := a.DB.InTx(ctx, func(tx *db.Tx) error {
			_, err := accounts.Erase(ctx, tx, h.Workspace, c.DID)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, phone := range h.Phones { // also of callers who only looked
		err := a.DB.InTx(ctx, func(tx *db.Tx) error {
			_, err := forgetNumber(ctx, tx, phone)
			return err
		})
		if err != nil {
			return err
		}
	}
	if a.line != nil {
		if err := a.line.sessions.Flush(ctx); err != nil {
			return err
		}
	}
	return a.DB.InTx(ctx, func(tx *db.Tx) error { return ussd.ForgetSamples(ctx, tx) })
}

func (a removal) removeChats(ctx context.Context, h *demo.Holding) error {
	chats := a.chats()
	for _, user := range h.Users {
		if err := a.DB.InTx(ctx, func(tx *db.Tx) error { return chats.Remove(ctx, tx, user) }); err != nil {
			return err
		}
	}
	return drain(ctx, chats.Sweep)
}

func (a removal) removeSurveys(ctx context.Context, h *demo.Holding) error {
	for _, id := range h.Surveys {
		o, err := a.campaign(ctx, h, id)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		if err := response.RemoveAll(ctx, a.DB, o.NID); err != nil {
			return err
		}
		err = a.DB.InTx(ctx, func(tx *db.Tx) error {
			return errors.Join(interview.RemoveDrafts(ctx, tx, o.NID), a.surveys.quality.Remove(ctx, tx, h.Workspace, o.NID), crossref.Remove(ctx, tx, o.NID))
		})
		if err != nil {
			return err
		}
		if err := a.surveys.surveys.Remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (a removal) removeJobs(ctx context.Context, h *demo.Holding) error {
	jobs, err := a.jobsOf(ctx, h)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := errors.Join(a.exchange.Remove(ctx, h.Workspace, j.ID), a.Jobs.Remove(ctx, j)); err != nil {
			return err
		}
	}
	return nil
}

// removeTwins removes twins, one and a transaction at a time.
func (a removal) removeTwins(ctx context.Context, h *demo.Holding) error {
	for did, nid := range h.Twins {
		if err := device.Remove(ctx, a.DB, nid); err != nil {
			return err
		}
		err := a.DB.InTx(ctx, func(tx *db.Tx) error {
			r, err := a.twins.entities.FindForUpdate(ctx, tx, did)
			if fault.KindOf(err) == fault.NotFound {
				return nil
			} else if err != nil {
				return err
			}
			if err := errors.Join(a.twins.groups.RemoveTwin(ctx, tx, r), claim.Remove(ctx, tx, nid), credential.Remove(ctx, tx, nid), sampling.Remove(ctx, tx, h.Workspace, did), kpt.Remove(ctx, tx, h.Workspace, did)); err != nil {
				return err
			}
			if _, err := a.surveys.vault.Forget(ctx, tx, h.Workspace, did); err != nil {
				return err
			}
			if _, err := a.surveys.vault.DestroyProject(ctx, tx, h.Workspace, did); err != nil {
				return err
			}
			return a.twins.entities.Remove(ctx, tx, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a removal) removeKeys(ctx context.Context, h *demo.Holding) error {
	_, err := a.Auth.RemoveKeys(ctx, h.Workspace, func(k auth.Key) bool { return a.owns(h, k) })
	return err
}

// removeCopies removes what holds copies of the demo, as an erasure does: files
// of exports and imports, pictures, stored answers.
func (a removal) removeCopies(ctx context.Context, h *demo.Holding) error {
	if err := a.DB.InTx(ctx, func(tx *db.Tx) error { return a.exchange.Condemn(ctx, tx, h.Workspace) }); err != nil {
		return err
	}
	if _, err := a.exchange.Forget(ctx, h.Workspace); err != nil {
		return err
	}
	if err := a.sweepMedia(ctx, h.Workspace); err != nil {
		return err
	}
	names := make([]string, 0, len(h.Twins)+len(h.Names))
	for did := range h.Twins {
		names = append(names, did)
	}
	for name := range h.Names {
		names = append(names, name)
	}
	return a.Idem.Forget(ctx, h.Workspace, names)
}

// mediaSweeps is how often dropped pictures are looked for: some at a time. What is
// being sent goes later, with the sweep of the store.
const mediaSweeps = 100

func (a removal) sweepMedia(ctx context.Context, ws string) error {
	for range mediaSweeps {
		if left, err := a.surveys.media.Sweep(ctx, ws); err != nil || !left {
			return err
		}
	}
	return nil
}
