/** True if `npm run proof` of this repository runs the tests. A test with a longer form then uses it. */
export const isProof = process.env['PLINTH_TEST_PROOF'] === '1'
