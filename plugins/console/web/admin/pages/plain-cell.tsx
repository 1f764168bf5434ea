import { IconExternalLink } from '@tabler/icons-react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import type { Column } from '../api/page-types.ts'
import classes from './cell.module.css'
import { Copied } from './copied.tsx'

interface PlainCellProps {
  readonly text: string
  readonly column: Column
  readonly href: string | undefined
  /** Address of an external page. */
  readonly elsewhere: string | undefined
  readonly isWide: boolean
}

/** Shows a text, which may be a link. A code, in monospace, has a button that copies it. */
export function PlainCell(props: PlainCellProps) {
  const { text, column } = props
  const line = <Line {...props} />
  return column.mono ? <Copied text={text}>{line}</Copied> : line
}

function Line({ text, column, href, elsewhere, isWide }: PlainCellProps) {
  const { translate } = useLanguage()
  const className = `${column.mono ? classes.mono : ''} ${isWide ? classes.whole : classes.line}`
  if (column.link && href !== undefined) {
    return (
      <Link href={href} className={`${classes.link} ${className}`} title={text}>
        {text}
      </Link>
    )
  }
  if (elsewhere !== undefined) {
    return (
      <a href={elsewhere} target="_blank" rel="noopener noreferrer" className={classes.elsewhere} title={elsewhere}>
        <span className={className}>{text}</span>
        <IconExternalLink size={14} aria-hidden className={classes.out} />
        <span className="visually-hidden">{translate('admin.opens-elsewhere')}</span>
      </a>
    )
  }
  return (
    <span className={className} title={isWide ? undefined : text}>
      {text}
    </span>
  )
}
