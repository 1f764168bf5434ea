import * as bundled from './typebox.gen.mjs'
import type * as builders from './typebox-builders.ts'

/**
 * The schema builders of TypeBox, with its types. They are loaded from one bundled file: loading the 700 modules of the
 * library takes 40 times as long.
 */
export const Type: typeof builders = bundled
