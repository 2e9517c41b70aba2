package oracle_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
)

// TestInvocationRequired: where the operator wants invocations, a delegation alone
// lets nobody in, and one beside an invocation keeps no socket longer.
func TestInvocationRequired(t *testing.T) {
	t.Parallel()
	me := signer(t, "", 1)
	soon, later := time.Now().Add(10*time.Minute), time.Now().Add(24*time.Hour)
	call, all, part := mint(t, me, invocation(oracleDID, soon)), mint(t, me, invocation(oracleDID, later)), mint(t, me, delegation(oracleDID, later))
	for _, required := range []bool{false, true} {
		s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Invoked: required})
		for _, alone := range []string{all, part} {
			if _, err := s.Handshake(at(t, "192.0.2.1"), "", alone); (fault.CodeOf(err) == "UCAN_MISSING") != required {
				t.Errorf("required = %v: a delegation alone: %v", required, err)
			}
		}
		who, err := s.Handshake(at(t, "192.0.2.1"), call, part)
		if err != nil || who.DelegationText != part {
			t.Fatalf("required = %v: an invocation: %+v, %v", required, who, err)
		}
		if until := s.Stay(who).Until; until.After(soon) == required {
			t.Errorf("required = %v: a socket stays until %v", required, until)
		}
	}
}
