// Package verdict holds the rules about verdicts: what one looks like, who may
// decide about a claim, and what the protocol of the claim's producer requires.
// It also shows the credential that a verified claim becomes, as an item of
// verifiableCredential: in the records of its claims and of the twins that
// produced those. It stores no record: its callers do.
package verdict

import (
	"maps"
	"reflect"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The statuses of a verification, beside unverified.
const (
	Verified = "verified"
	Rejected = "rejected"
	Pending  = "pending"
	Revoked  = "revoked"
	Expired  = "expired"
)

// Validate names everything that is wrong with a verdict, in a fault
// ENTITY_INVALID.
func Validate(v api.Verdict) error {
	var c fault.Checks
	if !slices.Contains([]string{"unverified", Pending, Verified, Rejected, Revoked, Expired}, v.Status) {
		c.Add("/status", "not_allowed", "The value must be unverified, pending, verified, rejected, revoked or expired.")
	}
	check.Text(&c, "/evidence", v.Evidence, twin.MaxEvidence)
	check.Optional(&c, "/reason", v.Reason, check.MaxReason)
	if v.Oracle != "" {
		check.DID(&c, "/oracle", v.Oracle)
	}
	return c.Err("ENTITY_INVALID", "The entity is not valid.")
}

// decides reports whether a verdict says that a twin is what it claims to be, or
// that it is not.
func decides(v api.Verdict) bool { return v.Status == Verified || v.Status == Rejected }

// about is the revision a verdict names, 0 for none.
func about(v api.Verdict) int64 {
	if v.Revision == nil {
		return 0
	}
	return *v.Revision
}

// Repeated reports whether what somebody has said about a twin, for a reason, is
// the same verdict about the same revision.
func Repeated(v api.Verdict, was twin.Verification, reason string) bool {
	i := slices.IndexFunc(was.Approvals, func(a twin.Approval) bool { return a.Verifier == was.Verifier && a.Revision == was.Revision })
	status := was.Status
	if i >= 0 {
		status = Verified // and yet pending, while others are missing
	}
	return was.Revision == about(v) && status == v.Status && was.Evidence == v.Evidence && reason == v.Reason &&
		(v.Oracle == "" || i >= 0 && was.Approvals[i].Oracle == v.Oracle)
}

// claimant is the fault of who would decide about a claim they have a part in;
// detail says which.
func claimant(detail string) error {
	return fault.New(fault.Forbidden, "VERIFIER_IS_CLAIMANT", "Only somebody who has no part in a claim can decide about it. Anyone who made or changed it, owns it, or controls it or what produces it, now or when it was made, cannot.").
		With(fault.Field{Code: "claimant", Detail: detail})
}

// Outlived tells of a revision that says something else than the one before
// that somebody has vouched for what was said: the verdict, or a part of it, was
// about that.
func Outlived(before, e *twin.Entity) bool {
	was := before.Verification
	return Vouched(was) && reflect.DeepEqual(e.Verification, was)
}

// Vouched reports whether somebody stands for what a twin says: with a verdict, or
// a part of one.
func Vouched(v twin.Verification) bool { return v.Status == Verified || len(v.Approvals) > 0 }

// Restated reports whether a revision changes what the twin says, as far as its
// record shows; for relationships see Says. This is what a verdict is about.
// Controllers, owner and status are not part of it. The version of its protocol
// is part of a claim, because it defines the units.
func Restated(before, e *twin.Entity) bool {
	return e.Type != before.Type || e.DomainType == claim && e.ProtocolVersion != before.ProtocolVersion ||
		string(e.Properties.Value) != string(before.Properties.Value) || string(e.Metadata.Value) != string(before.Metadata.Value) ||
		!e.StartDate.Equal(before.StartDate) || !e.EndDate.Equal(before.EndDate) ||
		!slices.Equal(e.Services, before.Services) || !slices.Equal(e.LinkedResources, before.LinkedResources) || !slices.Equal(e.LinkedEntities, before.LinkedEntities) ||
		!slices.Equal(e.AccordedRights, before.AccordedRights) ||
		!slices.Equal(e.Accounts, before.Accounts) || !slices.Equal(e.AlsoKnownAs, before.AlsoKnownAs) ||
		!maps.Equal(e.ExternalIDs, before.ExternalIDs)
}

const claim = "claim"

// Says reports whether a relationship is part of what a twin of a domain type
// says: of a claim those that tell what it is about and what produced it, of a
// credential those that tell what it became from. Who verifies a claim and what
// it has become follows from verdicts.
func Says(domain, role string) bool {
	return Speaks(domain) && role != relationship.Verifies && role != relationship.VerifiedBy && role != relationship.Becomes
}

// Speaks reports whether relationships are part of what a twin of a domain type
// says. Of most twins they are not: others add them.
func Speaks(domain string) bool { return domain == claim || domain == "credential" }
