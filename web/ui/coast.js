// The outline of all land, for maps: world-atlas (Natural Earth, 1:110 million), fetched once when
// a map is shown first. It is TopoJSON: rings of arcs, each a list of differences of whole numbers.

const EDGE = 85; // Mercator's projection has no poles

let loading = null;

/** The data of an SVG path in degrees of longitude and `mercator` of latitude, north being up. */
export function coast(mercator) {
	loading ??= fetch('./ui/land.json')
		.then((answer) => answer.json())
		.then((land) => outline(land, mercator));
	return loading;
}

function outline({ arcs, objects, transform: { scale, translate } }, mercator) {
	const decoded = arcs.map((arc) => {
		let x = 0;
		let y = 0;
		return arc.map(([east, north]) => {
			x += east;
			y += north;
			const latitude = Math.max(-EDGE, Math.min(EDGE, y * scale[1] + translate[1]));
			return [x * scale[0] + translate[0], mercator(latitude)];
		});
	});
	// A negative number is an arc backwards.
	const points = (at) => (at < 0 ? decoded[~at].toReversed() : decoded[at]);
	const rings = objects.land.geometries.flatMap(({ type, arcs: parts }) =>
		type === 'Polygon' ? parts : parts.flat(),
	);
	return rings.map((ring) => `${pathOf(ring.flatMap(points))}Z`).join('');
}

/** A ring over the antimeridian is in pieces, or a line would cross the whole map. */
function pathOf(ring) {
	const crosses = ([x], at) => at > 0 && Math.abs(x - ring[at - 1][0]) > 180;
	return ring
		.map(([x, y], at) => `${at === 0 || crosses([x], at) ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`)
		.join('');
}
