import { type ReactNode, useEffect, useRef } from 'react'
import { Brand } from './brand.tsx'
import classes from './frame.module.css'
import { siteName } from './site-name.ts'
import { Switches } from './switches.tsx'

interface FrameProps {
  readonly title: string
  readonly lead: string
  /** Where the reader is; shown in the side of the page. */
  readonly navigation: ReactNode
  /** Changes when the reader gets to another page: the heading takes the focus then. */
  readonly place: string
  /** Buttons that lead on and back. */
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** Of this browser page; what comes first takes no focus from anybody. */
let shownPlace: string | undefined

/** A page: side with brand and navigation, switches, one heading, content, actions at the bottom. */
export function Frame({ title, lead, navigation, place, actions, children }: FrameProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const isMove = shownPlace !== undefined && shownPlace !== place
    shownPlace = place
    if (!isMove) return
    window.scrollTo({ top: 0 })
    heading.current?.focus({ preventScroll: true })
  }, [place])
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  return (
    <div className={classes.frame}>
      <header className={classes.side}>
        <Brand />
        {navigation}
        <Switches />
      </header>
      <main className={classes.main}>
        <div className={classes.content}>
          <h1 className={classes.title} ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <p className={classes.lead}>{lead}</p>
          {children}
        </div>
        {actions !== undefined && (
          <div className={classes.actions}>
            <div className={classes.buttons}>{actions}</div>
          </div>
        )}
      </main>
    </div>
  )
}
