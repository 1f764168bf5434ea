import { type ReactNode, useEffect } from 'react'
import { siteName } from '../../app/app.tsx'
import classes from './page-head.module.css'

interface PageHeadProps {
  readonly title: string
  /** Heading in place of the title. */
  readonly heading?: ReactNode
  readonly lead?: string | undefined
  /** Buttons of the page. */
  readonly children?: ReactNode
}

/** The heading of a page, which is also the title of the browser tab, with its explanation and buttons. */
export function PageHead({ title, heading = title, lead, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  return (
    <div className={classes.head}>
      <div>
        <h1 className={classes.title}>{heading}</h1>
        {lead !== undefined && <p className={classes.lead}>{lead}</p>}
      </div>
      <div className={classes.buttons}>{children}</div>
    </div>
  )
}
