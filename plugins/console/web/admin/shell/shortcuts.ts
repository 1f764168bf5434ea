import type { TextKey } from '../../text/texts.ts'

/** A shortcut. Keys have the names of `KeyboardEvent.key`. `Ctrl` also matches the command key. */
export interface Shortcut {
  readonly keys: readonly string[]
  readonly text: TextKey
}

/**
 * All shortcuts, by the place where they work. Event listeners match them with `pressed`, and the help dialog lists
 * them.
 */
export const shortcuts = {
  everywhere: {
    palette: { keys: ['Ctrl', 'k'], text: 'admin.shortcuts.palette' },
    search: { keys: ['/'], text: 'admin.shortcuts.search' },
    row: { keys: ['j'], text: 'admin.shortcuts.row' },
    message: { keys: ['F8'], text: 'admin.shortcuts.message' },
    help: { keys: ['?'], text: 'admin.shortcuts.help' },
    close: { keys: ['Escape'], text: 'admin.shortcuts.close' },
  },
  lists: {
    next: { keys: ['j'], text: 'admin.shortcuts.next' },
    previous: { keys: ['k'], text: 'admin.shortcuts.previous' },
    open: { keys: ['Enter'], text: 'admin.shortcuts.open' },
    pick: { keys: ['x'], text: 'admin.shortcuts.pick' },
  },
  configuration: {
    first: { keys: ['ArrowDown'], text: 'admin.shortcuts.first' },
    next: { keys: ['j'], text: 'admin.shortcuts.next' },
    previous: { keys: ['k'], text: 'admin.shortcuts.previous' },
    details: { keys: ['Enter'], text: 'admin.shortcuts.details' },
    edit: { keys: ['e'], text: 'admin.shortcuts.edit' },
    review: { keys: ['Ctrl', 'Enter'], text: 'admin.shortcuts.review' },
  },
  matrix: {
    left: { keys: ['ArrowLeft'], text: 'admin.shortcuts.left' },
    right: { keys: ['ArrowRight'], text: 'admin.shortcuts.right' },
    up: { keys: ['ArrowUp'], text: 'admin.shortcuts.up' },
    down: { keys: ['ArrowDown'], text: 'admin.shortcuts.down' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Shortcut>>>>

/** The members of a keyboard event that `pressed` uses. */
interface Pressed {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
}

/** Returns the name of the pressed shortcut among those of a place; `undefined` if none matches. */
export function pressed<Place extends keyof typeof shortcuts>(
  place: Place,
  { key, ctrlKey, metaKey, altKey }: Pressed,
): keyof (typeof shortcuts)[Place] | undefined {
  const found = Object.entries<Shortcut>(shortcuts[place]).find(([, { keys }]) => {
    const [last, ...held] = keys.toReversed()
    return key.toLowerCase() === last?.toLowerCase() && (ctrlKey || metaKey) === held.includes('Ctrl') && !altKey
  })
  return found?.[0] as keyof (typeof shortcuts)[Place] | undefined
}
