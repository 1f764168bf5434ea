/** Business categories. Each has its own switch (document 2, "Preferences"). */
export const categories = ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing'] as const
export type Category = (typeof categories)[number]

/** Modules whose name differs from their category. */
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

/**
 * Returns the category of a message by its attribute `module`, in any case. Unknown modules are in category `system`.
 */
export function categoryOf(module: unknown): Category {
  const name = typeof module === 'string' ? module.trim().toLowerCase() : ''
  return categories.find((category) => category === name) ?? categoryOfModule.get(name) ?? 'system'
}
