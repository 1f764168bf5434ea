/** Terms of pages that are needed as lists of values and as types. */

/** Groups of the navigation in display order. */
export const pageGroups = [
  'overview',
  'configuration',
  'access',
  'activity',
  'traffic',
  'messages',
  'value',
  'product',
] as const
export type PageGroup = (typeof pageGroups)[number]

export const tones = ['good', 'info', 'warn', 'bad', 'quiet'] as const
/** Colour of a state. */
export type Tone = (typeof tones)[number]
