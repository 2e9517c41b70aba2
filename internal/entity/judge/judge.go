// Package judge holds the rules about verdicts: what one looks like, who may
// decide about a claim, and what the protocol of what produces it asks for. It
// stores nothing.
package judge

import (
	"reflect"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/entity/check"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The statuses of a verification that decide about a twin.
const (
	Verified = "verified"
	Rejected = "rejected"
	Pending  = "pending"
)

// Verdict is what a verifier says about a twin.
type Verdict struct {
	Status   string `json:"status" enum:"unverified,pending,verified,rejected,revoked,expired" example:"verified"`
	Evidence string `json:"evidence,omitzero" doc:"What it rests on: words or a link; at most 2000 characters."`
	Reason   string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 500 characters. Of a claim one of the reasonCodes of its protocol, where those are listed."`
	Oracle   string `json:"oracle,omitzero" doc:"DID of the oracle you speak for, where the protocol says which oracles verify a claim, or how many; one that you control when absent."`
	Revision *int64 `json:"revision,omitzero" doc:"The revision you have judged, as the entity shows it; in place of If-Match." example:"1"`
}

// Validate names everything that is wrong with a verdict, in a fault
// ENTITY_INVALID.
func (v Verdict) Validate() error {
	var c fault.Checks
	if !slices.Contains([]string{"unverified", Pending, Verified, Rejected, "revoked", "expired"}, v.Status) {
		c.Add("/status", "not_allowed", "The value must be unverified, pending, verified, rejected, revoked or expired.")
	}
	check.Text(&c, "/evidence", v.Evidence, twin.MaxEvidence)
	check.Optional(&c, "/reason", v.Reason, twin.MaxReason)
	if v.Oracle != "" {
		check.DID(&c, "/oracle", v.Oracle)
	}
	return c.Err("ENTITY_INVALID", "The entity is not valid.")
}

// Decides tells whether a verdict says that a twin is what it claims to be, or
// that it is not.
func (v Verdict) Decides() bool { return v.Status == Verified || v.Status == Rejected }

// about is the revision a verdict names, 0 for none.
func (v Verdict) about() int64 {
	if v.Revision == nil {
		return 0
	}
	return *v.Revision
}

// Repeated tells whether what somebody has said about a twin, for a reason, is
// the same verdict about the same revision.
func (v Verdict) Repeated(was twin.Verification, reason string) bool {
	i := slices.IndexFunc(was.Approvals, func(a twin.Approval) bool { return a.Verifier == was.Verifier && a.Revision == was.Revision })
	status := was.Status
	if i >= 0 {
		status = Verified // and yet pending, while others are missing
	}
	return was.Revision == v.about() && status == v.Status && was.Evidence == v.Evidence && reason == v.Reason &&
		(v.Oracle == "" || i >= 0 && was.Approvals[i].Oracle == v.Oracle)
}

// Independent refuses who has a part in a claim, as far as its record tells.
// The fault is VERIFIER_IS_CLAIMANT.
func Independent(claim *twin.Entity, who string) error {
	switch who {
	case "":
		return Claimant("Nobody knows who you are.")
	case claim.CreatedBy:
		return Claimant("You have made the claim.")
	case claim.StatedBy:
		return Claimant("You have changed what the claim says.")
	case claim.Owner:
		return Claimant("The claim belongs to you.")
	}
	return nil
}

// Claimant is the fault of who would decide about a claim they have a part in;
// detail says which.
func Claimant(detail string) error {
	return fault.New(fault.Forbidden, "VERIFIER_IS_CLAIMANT", "Somebody who has no part in a claim decides about it: nobody who has made it or changed it, owns it, or controls it or what produces it, or did when it was made.").
		With(fault.Field{Code: "claimant", Detail: detail})
}

// Outlived tells that what somebody has vouched for is not what the twin says
// now: the verdict, or a part of it, was about other properties.
func Outlived(before, e *twin.Entity) bool {
	was := before.Verification
	return Vouched(was) && reflect.DeepEqual(e.Verification, was) && Restated(before, e)
}

// Vouched tells whether somebody stands for what a twin says: with a verdict, or
// a part of one.
func Vouched(v twin.Verification) bool { return v.Status == Verified || len(v.Approvals) > 0 }

// Restated tells whether a revision says something else than the one before. A
// claim says it with its dates and its evidence too.
func Restated(before, e *twin.Entity) bool {
	if e.Type != before.Type || string(e.Properties.Value) != string(before.Properties.Value) {
		return true
	}
	return e.DomainType == "claim" && (!e.StartDate.Equal(before.StartDate) || !e.EndDate.Equal(before.EndDate) ||
		!slices.Equal(e.LinkedResources, before.LinkedResources))
}
