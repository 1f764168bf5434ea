import { useEffect, useRef } from 'react'

/** Id of the part of the page beside the navigation. */
export const contentId = 'content'

/** Dialogs, popovers and menus. */
const layers = '[role=dialog], [role=menu]'

/** Messages that confirm actions. The user can leave them without closing them. */
const messages = '[data-toast]'

/** True if a dialog, popover or menu is open. */
export const isLayerOpen = (): boolean => document.querySelector(layers) !== null

/** True if no element has the focus, so that the next key has no effect. */
const isFocusLost = () => document.activeElement === null || document.activeElement === document.body

/** Moves the focus to the content of the page. The next Tab then reaches the first element of the content. */
export const focusContent = () => document.getElementById(contentId)?.focus({ preventScroll: true })

/** Moves the focus to the search field of the page, if it has one. */
export function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type=search]')
  field?.focus()
  field?.select()
}

/** Rows of lists and of the config centre. In a row, the keys `j` and `k` move the focus to the next and previous row. */
const rows = 'main :is(tr, li)[tabindex]'

/** Moves the focus to the row that contains the element, or otherwise to the first row of the page. */
export function focusRow(from: EventTarget | null): void {
  const row = from instanceof Element ? from.closest<HTMLElement>(rows) : null
  if (row !== from) (row ?? document.querySelector<HTMLElement>(rows))?.focus()
}

/** Moves the focus to the first button of the latest message. Returns false if there is no message. */
export function focusMessage(): boolean {
  const button = [...document.querySelectorAll(messages)].at(-1)?.querySelector('button')
  button?.focus()
  return button != null
}

/**
 * Keeps a position for keyboard users. The focus moves to the content when another page is displayed. If the focused
 * element is removed, the focus moves to its dialog. If the dialog is removed too, the focus returns to the element that
 * opened the dialog. From a removed message, it returns to the element that had it before. If there is no such element
 * any more, the focus moves to the content.
 *
 * The library returns the focus only from dialogs that stay rendered while they are closed.
 *
 * @param page address of the displayed page
 */
export function useFocusKeeper(page: string): void {
  const shown = useRef(page)
  useEffect(() => {
    if (shown.current === page) return
    shown.current = page
    focusContent()
  }, [page])
  useEffect(() => {
    /** The layer of each focused element. A removed element is no longer connected to its layer. */
    const layerOf = new WeakMap<Element, Element>()
    /** The element that had the focus before the layer took it. */
    const openers = new WeakMap<Element, Element>()
    let focused: Element | undefined
    const onFocus = ({ target }: FocusEvent) => {
      if (!(target instanceof Element)) return
      const layer = target.closest(`${layers}, ${messages}`)
      if (layer !== null) {
        layerOf.set(target, layer)
        const isFirst = !openers.has(layer) || layer.matches(messages)
        if (focused !== undefined && isFirst && !layer.contains(focused)) openers.set(layer, focused)
      }
      focused = target
    }
    const returnFocus = () => {
      let last = focused
      while (last !== undefined && !last.isConnected) {
        const layer = layerOf.get(last)
        last = layer?.isConnected ? layer : layer && openers.get(layer)
      }
      if (last instanceof HTMLElement) last.focus({ preventScroll: true })
      if (isFocusLost()) focusContent()
    }
    const observer = new MutationObserver(() => {
      if (focused !== undefined && !focused.isConnected && isFocusLost()) returnFocus()
    })
    document.addEventListener('focusin', onFocus)
    observer.observe(document.body, { childList: true, subtree: true })
    return () => {
      document.removeEventListener('focusin', onFocus)
      observer.disconnect()
    }
  }, [])
}
