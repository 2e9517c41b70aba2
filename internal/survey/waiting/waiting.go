// Package waiting knows how much of a survey waits for somebody to decide about
// it: interviews that came when the survey took none, and contents that clash
// with stored responses (package offline).
package waiting

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Check notes that something waits, as a reason not to end a survey for good:
// after that nobody could take it any more.
func Check(ctx context.Context, q db.Querier, nid int64, surveyID string, c *fault.Checks) error {
	n, err := count(ctx, q, nid)
	if err != nil || n == 0 {
		return err
	}
	number := fmt.Sprint(n)
	if n > maxCounted {
		number = fmt.Sprintf("more than %d", maxCounted)
	}
	c.Add("/status", "conflicts_waiting", fmt.Sprintf("Contents that wait for a decision, held or in conflict: %s. Take or refuse each: see GET /v1/surveys/%s/conflicts?resolved=false.", number, surveyID))
	return nil
}
