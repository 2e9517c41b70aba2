package audit

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The states of a step.
const (
	checked = "checked"
	failed  = "failed"
	absent  = "absent"
)

func claimPath(id string) string { return "/v1/claims/" + url.PathEscape(id) }

// chain walks from a credential down to the draw, and checks each step.
type chain struct {
	s *Service
	api.ClaimChain
	claim api.Claim
}

func (c *chain) add(step api.ChainStep) { c.Steps = append(c.Steps, step) }

// Chain is the chain behind the credential of a claim. Each step is checked for this
// answer, or says that it was not. Fault: CLAIM_NOT_FOUND.
func (s *Service) Chain(ctx context.Context, id string) (api.ClaimChain, error) {
	c := &chain{s: s}
	if err := s.read(ctx, claimPath(id), &c.claim); err != nil {
		return api.ClaimChain{}, err
	}
	c.Claim = c.claim.ID
	for _, walk := range []func(context.Context) error{c.credential, c.evaluation, c.evidence, c.subject} {
		if err := walk(ctx); err != nil {
			return api.ClaimChain{}, err
		}
	}
	c.Holds = true
	for i := range c.Steps {
		c.Holds = c.Holds && c.Steps[i].State != failed
	}
	return c.ClaimChain, nil
}

// unread is a step that the caller may not look at.
func unread(step string, err error) (api.ChainStep, bool) {
	if fault.KindOf(err) != fault.Forbidden {
		return api.ChainStep{}, false
	}
	return api.ChainStep{Step: step, State: unchecked, Code: "unread", Detail: "Your key may not read it: " + fault.As(err).Message}, true
}

// post sends v and reads the answer.
func (c *chain) post(ctx context.Context, path string, v, out any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(web.WithCaller(ctx, web.CallerFrom(ctx)), http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return c.s.ask(r, out)
}

// credential verifies the newest credential of the claim.
func (c *chain) credential(ctx context.Context) error {
	var all struct {
		Items []api.IssuedCredential `json:"items"`
	}
	err := c.s.read(ctx, "/v1/entities/"+url.PathEscape(c.claim.ID)+"/credentials?limit=1", &all)
	if step, ok := unread("credential", err); ok {
		c.add(step)
		return nil
	} else if err != nil {
		return err
	}
	if len(all.Items) == 0 {
		c.add(api.ChainStep{Step: "credential", State: absent, Code: "credential_none", Detail: "No credential was issued from the claim."})
		return nil
	}
	var one api.IssuedCredential
	if err := c.s.read(ctx, "/v1/credentials/"+url.PathEscape(all.Items[0].ID), &one); err != nil {
		return err
	}
	var got api.CredentialVerification
	if err := c.post(ctx, "/v1/credentials/"+url.PathEscape(one.ID)+"/verify", nil, &got); err != nil {
		return err
	}
	step := api.ChainStep{Step: "credential", State: checked, Link: one.Links.Self, Code: "credential_good", Values: map[string]string{"status": one.Status}, Detail: "Its signature, its time and its status are good; it is " + one.Status + "."}
	if !got.Verified {
		codes, details := reasons(got.Reasons)
		step.State, step.Code, step.Values, step.Detail = failed, "credential_bad", map[string]string{"reasons": codes}, "It does not verify: "+details
	}
	c.add(step)
	return nil
}

// reasons are the codes and the sentences of what speaks against a credential.
func reasons(all []api.CredentialReason) (codes, details string) {
	c, d := make([]string, len(all)), make([]string, len(all))
	for i, r := range all {
		c[i], d[i] = r.Code, r.Detail
	}
	return strings.Join(c, " "), strings.Join(d, " ")
}

// evaluation decides about the claim again, which also computes its CID.
func (c *chain) evaluation(ctx context.Context) error {
	var got api.ClaimRecomputation
	if err := c.post(ctx, claimPath(c.claim.ID)+"/evaluations:recompute", struct{}{}, &got); err != nil {
		return err
	}
	step := api.ChainStep{Step: "evaluation", State: checked, Link: claimPath(c.claim.ID) + "/evaluations"}
	switch newest := len(got.Items) > 0; {
	case !newest:
		step.State, step.Code, step.Detail = absent, "evaluation_none", "Nobody has evaluated the claim."
	case got.Same:
		step.Code, step.Values = "evaluation_same", map[string]string{"outcome": got.Items[0].Outcome, "reasonCode": got.Items[0].ReasonCode}
		step.Detail = fmt.Sprintf("Decided again with the same facts, it comes to %s (%s).", got.Items[0].Outcome, got.Items[0].ReasonCode)
	default:
		step.State, step.Code, step.Detail = failed, "evaluation_differs", "Decided again with the same facts, it comes out differently."
	}
	c.add(step)
	document := api.ChainStep{Step: "claim", State: checked, Link: claimPath(c.claim.ID), Code: "claim_same", Values: map[string]string{"cid": c.claim.CID}, Detail: "The document has the CID " + c.claim.CID + "."}
	if got.CID != c.claim.CID {
		document.State, document.Code, document.Values, document.Detail = failed, "claim_differs", nil, "The document has another CID than when it was submitted."
	}
	c.add(document)
	return nil
}

// evidence looks up what the claim rests on.
func (c *chain) evidence(ctx context.Context) error {
	all, err := c.s.Evidence(ctx, c.claim.ID)
	if err != nil {
		return err
	}
	if len(all.Items) == 0 {
		c.add(api.ChainStep{Step: "evidence", State: absent, Code: "evidence_none", Detail: "The claim names no evidence."})
	}
	surveys := map[string]bool{}
	for i := range all.Items {
		p := &all.Items[i]
		step := api.ChainStep{Step: "evidence", State: unchecked, Detail: p.Detail, Link: p.Link, Evidence: p}
		step.Code, step.Values = saysOf(p)
		switch {
		case p.State == same:
			step.State = checked
		case p.State == missing, p.State == changed && (p.Type != "readings" || p.Corrections == 0):
			step.State = failed
		}
		c.add(step)
		if p.Type == "response" && p.State == same {
			if err := c.draw(ctx, p.ID, surveys); err != nil {
				return err
			}
		}
	}
	return nil
}

// saysOf names what the sentence of a piece of evidence says.
func saysOf(p *api.ClaimEvidence) (code string, values map[string]string) {
	switch {
	case p.State == changed && p.Corrections > 0:
		return "readings_corrected", map[string]string{"n": strconv.Itoa(p.Corrections)}
	case p.Type == "calculation":
		return "calculation_" + p.State, nil
	case p.Type == "other":
		return "evidence_other", nil
	}
	return "evidence_" + p.State, nil
}

// draw says how the household of a response came into its survey.
func (c *chain) draw(ctx context.Context, response string, seen map[string]bool) error {
	var r struct {
		Survey string `json:"surveyId"`
	}
	var v struct {
		Name     string `json:"name"`
		Sampling struct {
			Draw *api.SurveyDraw `json:"draw"`
		} `json:"sampling"`
	}
	err := c.s.read(ctx, "/v1/responses/"+url.PathEscape(response), &r)
	if err == nil && seen[r.Survey] {
		return nil
	}
	if err == nil {
		seen[r.Survey] = true
		err = c.s.read(ctx, "/v1/surveys/"+url.PathEscape(r.Survey), &v)
	}
	if step, ok := unread("draw", err); ok {
		c.add(step)
		return nil
	} else if err != nil {
		return err
	}
	if v.Sampling.Draw == nil {
		c.add(api.ChainStep{Step: "draw", State: absent, Code: "draw_none", Detail: "The households of this survey were not drawn here.", Link: "/v1/surveys/" + url.PathEscape(r.Survey)})
		return nil
	}
	path := "/v1/sampling/draws/" + url.PathEscape(v.Sampling.Draw.DrawID)
	c.add(api.ChainStep{Step: "draw", State: unchecked, Link: path, Check: path + "/verify", Code: "draw_open", Values: map[string]string{"frame": v.Sampling.Draw.FrameHash}, Detail: "The households of this survey were drawn from a frame with the hash " + v.Sampling.Draw.FrameHash + ". Drawing them again takes a while, so it is done on request."})
	return nil
}

// subject says by which name auditors know what the claim is about.
func (c *chain) subject(ctx context.Context) error {
	if c.claim.Subject == "" {
		c.add(api.ChainStep{Step: "subject", State: absent, Code: "subject_none", Detail: "A draft has no subject yet."})
		return nil
	}
	step := api.ChainStep{Step: "subject", State: checked, Link: "/v1/entities/" + url.PathEscape(c.claim.Subject), Code: "subject_hidden", Detail: "Bundles and exports of the project have a made-up name for what it is about."}
	if web.CallerFrom(ctx).May("responses:pii") {
		name, err := c.s.cfg.Name(ctx, c.claim.Project, c.claim.Subject)
		if err != nil {
			return err
		}
		step.Code, step.Values = "subject_named", map[string]string{"name": name}
		step.Detail = "It is about " + name + ": that is its name in bundles and exports of the project."
	}
	c.add(step)
	return nil
}
