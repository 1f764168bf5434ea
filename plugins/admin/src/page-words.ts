/** Words of pages that are lists of values as well as types. */

/** Groups of the navigation, in its order. */
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
/** How a state is coloured. */
export type Tone = (typeof tones)[number]
