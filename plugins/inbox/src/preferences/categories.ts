/** Business categories, each with a switch of its own (document 2, "Preferences"). */
export const categories = ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing'] as const
export type Category = (typeof categories)[number]

/** Modules that are not named like their category. */
const categoryOfModule = new Map<string, Category>(
  Object.entries({
    social: 'account',
    iam: 'account',
    user: 'account',
    conversation: 'chat',
    approval: 'todo',
    'to-do': 'todo',
    cms: 'blog',
    commerce: 'mall',
  } as const),
)

/** The category of a message by its attribute `module`, in any case; what is none of a known module is `system`. */
export function categoryOf(module: unknown): Category {
  const name = typeof module === 'string' ? module.trim().toLowerCase() : ''
  return categories.find((category) => category === name) ?? categoryOfModule.get(name) ?? 'system'
}
