package survey

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// checkWaiting notes that something of a survey waits for a decision, as a
// reason not to end the survey for good: after that nobody could take it any
// more. These are interviews that came when the survey took none, and contents
// that clash with stored responses (package offline).
func checkWaiting(ctx context.Context, q db.Querier, nid int64, surveyID string, c *fault.Checks) error {
	n, err := countWaiting(ctx, q, nid)
	if err != nil || n == 0 {
		return err
	}
	number := fmt.Sprint(n)
	if n > maxWaiting {
		number = fmt.Sprintf("more than %d", maxWaiting)
	}
	c.Add("/status", "conflicts_waiting", fmt.Sprintf("Contents that wait for a decision, held or in conflict: %s. Take or refuse each: see GET /v1/surveys/%s/conflicts?resolved=false.", number, surveyID))
	return nil
}
