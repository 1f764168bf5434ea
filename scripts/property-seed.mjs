/**
 * Loaded before a test file with property tests: the same cases in every run, so that what fails is what was changed.
 * `PROPERTY_SEED` names another seed, and `PROPERTY_SEED=random` looks for cases that nobody has seen.
 */
import fc from 'fast-check'

const seed = process.env.PROPERTY_SEED ?? '20260401'
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
