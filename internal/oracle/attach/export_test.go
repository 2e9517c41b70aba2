package attach

// Decode is what tests look at from outside.
var Decode = decode
