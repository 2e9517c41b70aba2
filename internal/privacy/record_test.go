package privacy_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/privacy"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	if nid, ok := privacy.RecordNID(privacy.RecordName(7310428377145344)); !ok || nid != 7310428377145344 {
		t.Errorf("number = %d, %v", nid, ok)
	}
	for _, id := range []string{"", "rec~", "rec~0", "rec~-1", "rec~+1", "rec~01", "rec~1x", "rec_1", "REC~1", "rec~99999999999999999999", "7310428377145344"} {
		if nid, ok := privacy.RecordNID(id); ok {
			t.Errorf("%q is %d", id, nid)
		}
	}
}
