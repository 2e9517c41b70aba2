package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Draft is the type of package api.
type Draft = api.ClaimDraft

const (
	claimProtocol = "did:ixo:protocol/claim"
	kitchenClaim  = "KPTClaim"
	redemption    = "RedemptionClaim"
	maxEvidence   = 2000 // bytes of one piece, as in the protocol of claims
	sumTolerance  = 1e-3
)

// normal moves the members of the documented bodies into the general ones.
func normal(d Draft, c *fault.Checks) Draft {
	if d.HouseholdID != "" {
		if d.Subject != "" && d.Subject != d.HouseholdID {
			c.Add("/subject", "conflict", "householdId names another subject.")
		}
		d.Subject = d.HouseholdID
	}
	data := maps.Clone(d.Data)
	put := func(name string, v any) {
		if data == nil {
			data = map[string]any{}
		}
		data[name] = v
	}
	if d.Type == kitchenClaim {
		kitchen(&d, c)
		for name, v := range map[string]any{
			"testGroup": d.TestGroup, "testPeriod": d.TestPeriod, "fuelMeasurements": d.FuelMeasurements, "externalFactors": d.ExternalFactors, "cookingSessions": d.CookingSessions,
		} {
			put(name, v)
		}
	}
	if d.RedemptionID != "" {
		d.Type = cmp.Or(d.Type, redemption)
		put("redemptionId", d.RedemptionID)
		put("verifiableCredential", d.VerifiableCredential)
		if subject, ok := d.VerifiableCredential["credentialSubject"].(map[string]any); ok && d.Subject == "" {
			d.Subject, _ = subject["id"].(string)
		}
	}
	d.Data = data
	return d
}

// asSent renames the general members in a fault back to those of the documented
// body.
func asSent(err error, d Draft) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	names := map[string]string{}
	if d.RedemptionID != "" {
		names["/externalIds/redemption"] = "/redemptionId"
		if d.Subject == "" {
			names["/subject"] = "/verifiableCredential/credentialSubject/id"
		}
	}
	if d.HouseholdID != "" {
		names["/subject"] = "/householdId"
	}
	if d.Type == kitchenClaim {
		names["/periodStart"], names["/periodEnd"] = "/testPeriod/startDate", "/testPeriod/endDate"
		names["/amount/value"], names["/amount/unit"] = "/fuelMeasurements/total", "/fuelMeasurements/unit"
	}
	out := *f
	out.Fields = slices.Clone(f.Fields)
	for i := range out.Fields {
		p := &out.Fields[i].Pointer
		*p = cmp.Or(names[*p], *p)
	}
	return &out
}

// kitchen checks a claim of a kitchen performance test, whose total is the sum of its
// days.
func kitchen(d *Draft, c *fault.Checks) {
	c.Require(d.Subject != "", "/householdId")
	c.Require(d.TestGroup != "", "/testGroup")
	check.OneOf(c, "/testGroup", d.TestGroup, "reference", "intervention")
	if p := d.TestPeriod; p == nil {
		c.Require(false, "/testPeriod")
	} else {
		d.PeriodStart, d.PeriodEnd = p.StartDate, p.EndDate
	}
	f := d.FuelMeasurements
	if f == nil {
		c.Require(false, "/fuelMeasurements")
		return
	}
	sum := 0.0
	for i, n := range f.DailyLogs {
		if !(n >= 0) {
			c.Add(fmt.Sprintf("/fuelMeasurements/dailyLogs/%d", i), "out_of_range", "The value must not be below zero.")
		}
		sum += n
	}
	if len(f.DailyLogs) > 0 && (f.Total < sum*(1-sumTolerance) || f.Total > sum*(1+sumTolerance)) {
		c.Add("/fuelMeasurements/total", "mismatch", "The total is not the sum of dailyLogs.")
	}
	d.Amount = &api.ClaimAmount{Value: f.Total, Unit: cmp.Or(f.Unit, "kg")}
}

// checkDraft names what is wrong with the general members.
func checkDraft(d *Draft, c *fault.Checks) {
	for at, v := range map[string]string{"/periodStart": d.PeriodStart, "/periodEnd": d.PeriodEnd} {
		if v != "" {
			dayOf(v, at, c)
		}
	}
	for at, v := range map[string]string{"/subject": d.Subject, "/oracle": d.Oracle} {
		if v != "" {
			check.DID(c, at, v)
		}
	}
	if a := d.Amount; a != nil {
		checkAmount(a.Value, "/amount/value", c)
		check.Line(c, "/amount/unit", a.Unit, 64)
	}
}

// evidence renders the pieces of evidence as texts: objects as canonical JSON.
func evidence(all []any, c *fault.Checks) []string {
	out := []string{}
	for i, v := range all {
		text, ok := v.(string)
		if !ok {
			raw, err := canonical(v)
			if err != nil || raw.Kind() != '{' {
				c.Add(fmt.Sprintf("/evidence/%d", i), "wrong_type", "The value must be a text or an object.")
				continue
			}
			text = string(raw)
		}
		if text == "" || len(text) > maxEvidence {
			c.Add(fmt.Sprintf("/evidence/%d", i), "too_long", fmt.Sprintf("A piece of evidence has 1 to %d bytes.", maxEvidence))
		}
		out = append(out, text)
	}
	return out
}

// twinOf makes the draft of a claim's twin. The fault is CLAIM_INVALID.
func twinOf(d Draft) (entity.Draft, error) {
	var c fault.Checks
	d = normal(d, &c)
	checkDraft(&d, &c)
	pieces := evidence(d.Evidence, &c)
	if err := c.Err(invalidCode, invalidText); err != nil {
		return entity.Draft{}, err
	}
	props := map[string]any{}
	for name, v := range map[string]string{"kind": d.Kind, "periodStart": d.PeriodStart, "periodEnd": d.PeriodEnd, "name": d.Name, "description": d.Description} {
		if v != "" {
			props[name] = v
		}
	}
	if d.Amount != nil {
		props["amount"] = d.Amount
	}
	if len(pieces) > 0 {
		props["evidence"] = pieces
	}
	if d.Data == nil {
		d.Data = map[string]any{}
	}
	if len(d.Claims) > 0 {
		d.Data["claims"] = d.Claims
	}
	if d.Collection != "" {
		d.Data["collection"] = d.Collection
	}
	if len(d.Data) > 0 {
		props["data"] = d.Data
	}
	raw, err := json.Marshal(props, json.Deterministic(true))
	if err != nil {
		return entity.Draft{}, fmt.Errorf("encode claim: %w", err)
	}
	out := entity.Draft{Type: cmp.Or(d.Type, "Claim"), Protocol: cmp.Or(d.Protocol, claimProtocol), Properties: entity.Object{Value: raw}}
	if d.Subject != "" {
		out.Relationships = append(out.Relationships, entity.RelationDraft{Role: relationship.ProducedBy, Target: d.Subject})
	}
	if d.Oracle != "" {
		out.Relationships = append(out.Relationships, entity.RelationDraft{Role: relationship.VerifiedBy, Target: d.Oracle})
	}
	if d.RedemptionID != "" {
		out.ExternalIDs = map[string]string{"redemption": d.RedemptionID}
	}
	return out, nil
}
