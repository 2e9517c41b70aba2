package exchange

// RemoveRows removes rows of a report.
var RemoveRows = removeRows
